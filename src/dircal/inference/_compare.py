"""Several calibrators on the same folds, to see whether calibration helps at all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._frames import to_frame
from dircal._progress import Progress
from dircal._typing import ArrayLike, FloatArray
from dircal.calibrators import IdentityCalibrator
from dircal.exceptions import warn
from dircal.inference._calibrators import UNCALIBRATED, agree_on_classes, check_calibrators
from dircal.inference._chosen_measure import (
    ChosenMeasure,
    check_drawing,
    check_measure,
    default_measures,
    measure_all,
)
from dircal.inference._draws import Draws
from dircal.inference._resampling import difference_of, draw_together, range_of
from dircal.inference._show import html_of_comparison
from dircal.inference._soft_rows import rows_once_each
from dircal.metrics import Predictions, Table
from dircal.selection import (
    check_cv,
    cross_fit,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.validation import check_fit, check_random_state

__all__ = ["Comparison", "ComparisonRow", "compare"]

WITHOUT_BIAS = "without bias"
"""Above the values that intervals are of, where these are not the measured ones."""


@dataclass(frozen=True)
class ComparisonRow:
    """One measure of one calibrator.

    Parameters
    ----------
    calibrator : str
        Name of the calibrator.
    measure : str
        Name of the measure.
    value : float
        The measure.
    difference : float
        The value less that without calibration.
    low, high : float or None
        Ends of the interval of the value; None for the largest gap, which has none.
    difference_low, difference_high : float or None
        Ends of the interval of the difference; None without calibration.
    pvalue : float or None
        Of the hypothesis that calibration makes no difference.
    corrected : float or None
        The value that the interval is one of: without what chance adds to absolute gaps; the
        value itself for other measures.
    """

    calibrator: str
    measure: str
    value: float
    difference: float
    low: float | None = None
    high: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    pvalue: float | None = None
    corrected: float | None = None

    @property
    def is_corrected(self) -> bool:
        """Whether the interval is one of another number than the value."""
        return self.corrected is not None and self.corrected != self.value


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`: a table with a row for each calibrator and measure.

    Parameters
    ----------
    table : tuple of ComparisonRow
        The calibrators one after another, the predictions as they are first.
    level : float
        Of the intervals.
    probabilities : dict of arrays (m, k)
        Probabilities of the scored rows from each calibrator; columns in the sorted order of the
        labels.
    scored : array (m,)
        Which rows were scored, in the order of the probabilities.
    fit_warnings : dict of tuples of str
        What the fits of each calibrator warned about.
    """

    table: tuple[ComparisonRow, ...]
    level: float
    probabilities: dict[str, FloatArray] = field(repr=False)
    scored: npt.NDArray[np.intp] = field(repr=False)
    fit_warnings: dict[str, tuple[str, ...]]

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def row(self, calibrator: str, measure: str) -> ComparisonRow:
        """The row of one measure of one calibrator."""
        for row in self.table:
            if (row.calibrator, row.measure) == (calibrator, measure):
                return row
        names = dict.fromkeys((row.calibrator, row.measure) for row in self.table)
        raise KeyError(f"{(calibrator, measure)} is none of the rows {list(names)}")

    def to_frame(self) -> Any:
        """The table as a data frame of pandas or polars; a dict of lists where neither is there."""
        return to_frame(columns_of(self.table))

    def __repr__(self) -> str:
        width = max(len(row.calibrator) for row in self.table)
        longest = max(len(row.measure) for row in self.table)
        percent = f"{100 * self.level:g} %"
        # Chance makes calibration errors too large; intervals are of what is left without it.
        extra = any(row.is_corrected for row in self.table)
        head = f"{'calibrator':{width}}  {'measure':{longest}}  {'value':>8}  "
        head += f"{WITHOUT_BIAS}  {percent:>18}  " if extra else f"{percent:>18}  "
        lines = [head + f"{'change':>9}  p-value"]
        for row in self.table:
            line = f"{row.calibrator:{width}}  {row.measure:{longest}}  "
            line += f"{show_number(row.value):>8}  "
            line += f"{show_corrected(row):>{len(WITHOUT_BIAS)}}  " if extra else ""
            line += f"{show_range(row.low, row.high):>18}"
            if row.calibrator != UNCALIBRATED:
                chance = "" if row.pvalue is None else f"{row.pvalue:.2g}"
                line += f"  {show_number(row.difference):>9}  {chance}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_of_comparison(self)


def columns_of(table: Iterable[ComparisonRow]) -> dict[str, list[Any]]:
    """Rows of a comparison as lists, one for each column."""
    names = [one.name for one in fields(ComparisonRow)]
    values = zip(*(astuple(row) for row in table), strict=True)
    return {name: list(column) for name, column in zip(names, values, strict=True)}


def compare(
    calibrators: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    cv: Any = 5,
    measures: Sequence[Any] | None = None,
    level: float = 0.95,
    n_resamples: int = 1_000,
    random_state: int | np.random.Generator | None = None,
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
    X : array or data frame of shape (n_samples, n_classes)
        Probabilities, or logits where the calibrators have ``input_scale="logit"``, of rows that
        were not used to train the classifier.
    y : array of shape (n_samples,) or (n_samples, n_classes)
        True labels, or soft ones with the columns of `X`: probabilities, or integers that count
        annotators, of whom every row then has as many.
    cv : int, splitter or iterable of pairs, default=5
        Number of folds, each with its share of every class; or a splitter of scikit-learn; or
        pairs of indices (rows to fit, rows to score) that score no row twice: a single pair is a
        calibration set and a test set.
    measures : sequence of str or callables, optional
        Measures of `dircal.metrics` by name, as functions, or with options as a
        ``functools.partial``; by default accuracy, log-loss, Brier score and all calibration
        errors.
    level : float, default=0.95
        How often the intervals hold the true value.
    n_resamples : int, default=1_000
        Number of draws, at least 100.
    random_state : int, numpy Generator or None, optional
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
    as given. Warnings of fits are passed on, and the table keeps them.

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
    >>> compare(calibrators, q, y, measures=["log_loss"], random_state=0)
    calibrator           measure      value                95 %     change  p-value
    uncalibrated         log_loss    0...
    TemperatureScaling   log_loss    0...
    DirichletCalibrator  log_loss    0...
    """
    check_drawing(level, n_resamples)
    check_cv(cv)
    rng = check_random_state(random_state)
    wanted = default_measures(Table.COMPARISON) if measures is None else _check_measures(measures)
    if not isinstance(calibrators, Mapping | str) and isinstance(calibrators, Iterable):
        calibrators = list(calibrators)
    named = check_calibrators(calibrators)
    scale = next(iter(named.values())).input_scale
    labels_of_columns = agree_on_classes(named, classes)
    data = check_fit(X, y, None, classes=labels_of_columns, input_scale=scale)
    # What short names stand for may depend on the number of classes.
    named = check_calibrators(calibrators, len(data.classes))
    # Refused before the fits, if at all.
    rows_once_each(data, "y")
    used = used_rows(data.sample_weight, len(data.labels))
    splits = make_splits(cv, data.labels, used, deal_within_classes)
    rows = scored_rows(splits)
    probabilities, fit_warnings = {}, {}
    named = {UNCALIBRATED: IdentityCalibrator(input_scale=scale), **named}
    with Progress("Cross-fitting", len(splits) * len(named), "fits") as progress:
        for name, calibrator in named.items():
            probabilities[name], told = cross_fit(
                calibrator, data, splits, progress.advance, f"calibrators[{name!r}]"
            )
            fit_warnings[name] = tuple(message for message, _ in told)
            for message, category in told:
                warn(f"{name}: {message}", category)
    scored = Predictions.of_checked(rows_once_each(data.take(rows), "y"))
    predictions = {name: scored.with_probabilities(proba) for name, proba in probabilities.items()}
    table = tabulate_measures(wanted, predictions, level, n_resamples, rng)
    return Comparison(tuple(table), level, probabilities, rows, fit_warnings)


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
    of_sure = [[row[j] for j in sure] for row in values]
    drawn = draw_together([measures[j] for j in sure], several, of_sure, n_resamples, rng)
    before: dict[str, tuple[float, Draws | None]] = {}
    for name, own, draws in zip(predictions, values, drawn, strict=True):
        remaining = iter(draws)
        for measure, value in zip(measures, own, strict=True):
            mine = next(remaining) if measure.record.interval is not None else None
            start, others = before.setdefault(measure.label, (value, mine))
            row = ComparisonRow(name, measure.label, value, value - start)
            if mine is not None:
                found = range_of(mine, value, level)
                row = replace(row, low=found.low, high=found.high, corrected=found.corrected)
            if mine is not None and others is not None and name != UNCALIBRATED:
                change = difference_of(mine, others, level)
                row = replace(
                    row,
                    difference_low=change.low,
                    difference_high=change.high,
                    pvalue=change.pvalue,
                )
            yield row


def _check_measures(measures: Any) -> list[ChosenMeasure]:
    """Measures that can be told apart."""
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


def show_number(value: float) -> str:
    """A number in few characters, however small."""
    return f"{value:.4f}" if abs(value) >= 0.0005 or value == 0.0 else f"{value:.0e}"


def show_corrected(row: ComparisonRow) -> str:
    """The value that the interval is one of; nothing where it is the measured one."""
    return show_number(row.corrected) if row.is_corrected and row.corrected is not None else ""


def show_range(low: float | None, high: float | None) -> str:
    """An interval; nothing where there is none."""
    return "" if low is None or high is None else f"{show_number(low)} to {show_number(high)}"
