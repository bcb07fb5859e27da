"""Several calibrators on the same folds, to see whether calibration helps at all."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dircal._progress import Progress
from dircal._typing import ArrayLike
from dircal.calibrators import IdentityCalibrator
from dircal.exceptions import warn
from dircal.inference._calibrators_base import agree_on_classes, check_calibrators
from dircal.inference._comparison_base import UNCALIBRATED, Comparison
from dircal.inference._measure_base import Measure, check_drawing, check_measure
from dircal.inference._table_base import label_of, tabulate_measures
from dircal.selection._cross_fit import cross_fit, scored_rows
from dircal.selection._splits import check_cv, deal_within_classes, make_splits
from dircal.validation import check_fit, check_random_state

__all__ = ["compare"]

_MEASURES = (
    "accuracy",
    "log_loss",
    "brier_score",
    "confidence_ece",
    "classwise_ece",
    "smooth_ece",
    "debiased_squared_error",
    "maximum_calibration_error",
)


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
        By name; those of a sequence are called after their classes.
    X : array or data frame of shape (n_samples, n_classes)
        Probabilities, or logits where the calibrators have ``input_scale="logit"``, of rows that
        were not used to train the classifier.
    y : array of shape (n_samples,)
        True labels.
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
        A tidy table: print it, iterate over its rows, take its ``columns()``, or make a data frame
        of it with ``to_frame()``.

    Notes
    -----
    Each row is scored once, by a map that was fitted on the other folds. With
    :math:`\theta_c` the measure of calibrator c over all scored rows and :math:`\theta_0` that of
    the predictions as they are, the table has :math:`\theta_c` with the interval of
    `confidence_interval`, and

    .. math:: \theta_c - \theta_0

    with the interval and p-value of `paired_comparison`. All of them share their draws of rows.
    The intervals tell how far other test rows would change the numbers; the fitted maps are taken
    as given. Fits that have something to complain about warn, and the table keeps what they said.

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
    wanted = _check_measures(_MEASURES if measures is None else measures)
    named = check_calibrators(calibrators)
    scale = next(iter(named.values())).input_scale
    labels_of_columns = agree_on_classes(named, classes)
    data = check_fit(X, y, None, classes=labels_of_columns, input_scale=scale)
    splits = make_splits(cv, data.labels, np.arange(len(data.labels)), deal_within_classes)
    rows = scored_rows(splits)
    probabilities, complaints = {}, {}
    named = {UNCALIBRATED: IdentityCalibrator(input_scale=scale), **named}
    with Progress("Cross-fitting", len(splits) * len(named), "fits") as progress:
        for name, calibrator in named.items():
            probabilities[name], told = cross_fit(
                calibrator, data, splits, progress.advance, f"calibrators[{name!r}]"
            )
            complaints[name] = tuple(message for message, _ in told)
            for message, category in told:
                warn(f"{name}: {message}", category)
    table = tabulate_measures(
        wanted,
        data.classes[data.labels[rows]],
        probabilities,
        data.classes,
        level,
        n_resamples,
        rng,
    )
    return Comparison(tuple(table), level, probabilities, rows, complaints)


def _check_measures(measures: Any) -> list[Measure]:
    """Measures that can be told apart."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        raise ValueError(
            f"`measures` must be a list of measures; got {measures!r}. "
            "Pass for example ['log_loss', 'brier_score']."
        )
    wanted = [check_measure(measure) for measure in measures]
    labels = [label_of(measure) for measure in wanted]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice or not wanted:
        what = f"has two called {twice[0]!r}" if twice else "is empty"
        raise ValueError(
            f"`measures` {what}. Pass at least one, each of another name or with other options."
        )
    return wanted
