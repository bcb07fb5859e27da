"""Several calibrators on the same folds, to see whether calibration helps at all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dircal._core.stats.row_blocks import ignore
from dircal._progress import Progress
from dircal._typing import ArrayLike
from dircal.exceptions import warn
from dircal.inference._calibrators import UNCALIBRATED, agree_on_classes, check_calibrators
from dircal.inference._chosen_measure import (
    ChosenMeasure,
    check_drawing,
    check_measure,
    default_measures,
    measure_all,
)
from dircal.inference._comparison import Comparison, ComparisonRow
from dircal.inference._drawn_sums import Drawn
from dircal.inference._evaluation_split import AbstractEvaluationSplit, make_evaluation_split
from dircal.inference._resampling import difference_of, draw_by_source, range_of, sources_of
from dircal.inference._soft_rows import rows_once_each
from dircal.metrics import Predictions, Table
from dircal.selection import check_cv
from dircal.tables import (
    FITTING,
    ScoreTable,
    check_fit,
    check_random_state,
    pass_progress,
)

__all__ = ["check_measures", "compare", "compare_on_split", "tabulate_measures"]


def compare(
    calibrators: Any,
    X: ArrayLike | ScoreTable,
    y: ArrayLike | None = None,
    *,
    cv: Any = None,
    measures: Sequence[Any] | None = None,
    level: float = 0.95,
    n_resamples: int = 1_000,
    random_state: int | np.random.Generator | None = 0,
    classes: Iterable[Any] | None = None,
) -> Comparison:
    r"""Measure several calibrators on the same folds, beside no calibration.

    Parameters
    ----------
    calibrators : dict or sequence of calibrators
        By name; those of a sequence are called after their classes. Short names of the command
        line stand for calibrators with their defaults: "auto", "bayesian", "beta", "dirichlet",
        "histogram", "identity", "isotonic", "matrix", "platt", "temperature", "vector"; those for
        two classes are fitted for each class against the rest where there are more. A classifier
        of another library, with `fit` and `predict_proba`, is fitted on the probabilities.
    X : array or data frame of shape (n_samples, n_classes), or ScoreTable
        Probabilities, or logits where the calibrators have ``input_scale="logit"``, of rows that
        were not used to train the classifier.
    y : array of shape (n_samples,) or (n_samples, n_classes), optional
        True labels; left out for a `ScoreTable`, which has them. Or soft labels with the columns of
        `X`: probabilities, or integers that count annotators, equally many in each row.
    cv : int, splitter or iterable of pairs, optional
        Number of folds, each with its share of every class; None stands for 5. Or a splitter of
        scikit-learn; or pairs of indices (rows to fit, rows to score) that score no row twice: a
        single pair is a calibration set and a test set. A table that is read in parts takes a
        number: rows are split by their numbers, and with more than 1,000,000 of them None scores
        one fold of five.
    measures : sequence of str or callables, optional
        Measures of `dircal.metrics` by name, as functions, or with options as a
        ``functools.partial``; by default accuracy, log-loss, Brier score and all calibration
        errors.
    level : float, default=0.95
        How often the intervals hold the true value.
    n_resamples : int, default=1_000
        Number of draws, at least 100.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    classes : array-like (k,), optional
        Label of each column of ``X``, where ``y`` does not hold them all or the columns are in
        another order than the sorted one.

    Returns
    -------
    Comparison
        A tidy table: print it, iterate over its rows, or take it as a data frame with
        ``to_frame()``.

    Notes
    -----
    Each row is scored once, by a map that was fitted on the other folds. With
    :math:`\theta_c` the measure of calibrator c over all scored rows and :math:`\theta_0` that of
    the predictions as they are, the table has :math:`\theta_c` with the interval of
    `confidence_interval`, and

    .. math:: \theta_c - \theta_0

    with the interval and p-value of `paired_comparison`. All of them share their draws of rows.
    The intervals tell how far other test rows would change the numbers; the fitted maps are taken
    as given. Warnings of fits are passed on, and the table keeps them. From 100,000 scored rows on
    intervals come from moments in place of draws, as those of `confidence_interval` do; the
    ``source`` of each row says which.

    There are no sample weights: a weight would say that a row stands for several, but not whether
    these were drawn together or apart.

    **When not to use it.** To report the loss of the best of many calibrators: being chosen makes
    it look better than it is; keep rows back for that. Where rows belong together: pass folds that
    keep them together, and read the intervals as too narrow.

    Examples
    --------
    >>> from dircal import DirichletCalibrator, GenerativeParameters, TemperatureScaling, compare
    >>> alpha = [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    >>> q, y = GenerativeParameters(alpha, [0.5, 0.25, 0.25]).sample(500, random_state=0)
    >>> calibrators = [TemperatureScaling(), DirichletCalibrator()]
    >>> compare(calibrators, q, y, measures=["log_loss"])
    Best log-loss: DirichletCalibrator (0...; uncalibrated 0..., p-value 0...).
    ...
    uncalibrated         0...
    TemperatureScaling   0...
    DirichletCalibrator  0...*
    ...
    """
    check_drawing(level, n_resamples)
    if cv is not None:
        check_cv(cv)
    rng = check_random_state(random_state)
    wanted = check_measures(measures)
    if not isinstance(calibrators, Mapping | str) and isinstance(calibrators, Iterable):
        calibrators = list(calibrators)
    named = check_calibrators(calibrators)
    if isinstance(X, ScoreTable) and X.weight is not None:
        raise ValueError(
            f"`X` is a table with weights, {X.weight!r}: intervals and tests are not available "
            "for weighted rows. Leave `weight` out of `scan`."
        )
    scale = next(iter(named.values())).input_scale
    labels_of_columns = agree_on_classes(named, classes)
    with pass_progress("Reading", X) as (X, passes):
        data = check_fit(
            X, y, None, classes=labels_of_columns, input_scale=scale, arguments=FITTING
        )
        passes.expect(data.shape[0])
        # What short names stand for may depend on the number of classes.
        named = check_calibrators(calibrators, len(data.classes))
        # Rejected before the fits, if at all.
        rows_once_each(data, "y")
        split = make_evaluation_split(data, cv, each_once=True)
        passes.begin("Cross-fitting")
        with Progress("Cross-fitting", split.n_fits * (1 + len(named)), "fits") as progress:
            advance = progress.advance if data.is_in_memory else ignore
            predictions, fit_warnings = compare_on_split(split, named, advance)
        passes.begin("Measuring")
        table = tuple(tabulate_measures(wanted, predictions, level, n_resamples, rng))
    probabilities = {}
    if data.is_in_memory:
        probabilities = {name: one.probabilities for name, one in predictions.items()}
    return Comparison(table, level, probabilities, split.scored_rows, fit_warnings, split.n_scored)


def compare_on_split(
    split: AbstractEvaluationSplit,
    calibrators: Mapping[str, Any],
    advance: Callable[[int], None] = ignore,
) -> tuple[dict[str, Predictions], dict[str, tuple[str, ...]]]:
    """What each calibrator says of the scored rows, without calibration first, and its warnings."""
    scale = next(iter(calibrators.values())).input_scale
    predictions = {UNCALIBRATED: split.as_they_are(scale)}
    fit_warnings: dict[str, tuple[str, ...]] = {UNCALIBRATED: ()}
    advance(split.n_fits)
    for name, calibrator in calibrators.items():
        tried = split.cross_fit(calibrator, advance, f"calibrators[{name!r}]")
        predictions[name] = tried.predictions
        fit_warnings[name] = tuple(message for message, _ in tried.warnings)
        for message, category in tried.warnings:
            warn(f"{name}: {message}", category)
    return predictions, fit_warnings


def tabulate_measures(
    measures: Sequence[ChosenMeasure],
    predictions: Mapping[str, Predictions],
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[ComparisonRow]:
    """A row for each of the predictions and measures; the first predictions are the yardstick."""
    several = [*predictions.values()]
    values = [measure_all(measures, one) for one in several]
    sure = [j for j, measure in enumerate(measures) if measure.record.interval is not None]
    with_interval = [measures[j] for j in sure]
    sources = sources_of(with_interval, several)
    seed = int(rng.integers(2**63))
    of_sure = [[row[j] for j in sure] for row in values]
    drawn = draw_by_source(with_interval, several, of_sure, n_resamples, seed, sources)
    source_of = dict(zip(sure, sources, strict=True))
    for name, own, draws in zip(predictions, values, drawn, strict=True):
        mine = dict(zip(sure, draws, strict=True))
        first = dict(zip(sure, drawn[0], strict=True))
        for j, (measure, value) in enumerate(zip(measures, own, strict=True)):
            row = ComparisonRow(name, measure.label, value, value - values[0][j])
            if j not in mine:
                yield row
                continue
            found = range_of(mine[j].own, value, level)
            row = replace(row, low=found.low, high=found.high, corrected=found.corrected)
            yield _with_change(replace(row, source=source_of[j]), mine[j], first[j], level)


def _with_change(row: ComparisonRow, mine: Drawn, first: Drawn, level: float) -> ComparisonRow:
    """The same with the interval of the change, where there is one."""
    if row.calibrator == UNCALIBRATED:
        return row
    change = difference_of(mine, first, level)
    return replace(
        row, difference_low=change.low, difference_high=change.high, pvalue=change.pvalue
    )


def check_measures(measures: Any) -> list[ChosenMeasure]:
    """Measures that can be told apart; None stands for all that a comparison shows."""
    if measures is None:
        return default_measures(Table.COMPARISON)
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise ValueError(
            f"`measures` must be a list of measures; got {measures!r}. "
            "Pass for example ['log_loss', 'brier_score']."
        )
    wanted = [check_measure(measure) for measure in measures]
    labels = [measure.label for measure in wanted]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice or not wanted:
        what = f"has two called {twice[0]!r}" if twice else "is empty"
        raise ValueError(
            f"`measures` {what}. Pass at least one, each of another name or with other options."
        )
    return wanted
