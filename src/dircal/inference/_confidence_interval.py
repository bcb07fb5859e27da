"""How sure we may be of a measure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._numerals import format_interval
from dircal._typing import ArrayLike
from dircal.exceptions import SmallSampleWarning, warn
from dircal.inference._chosen_measure import (
    ChosenMeasure,
    check_drawing,
    check_measure_with_interval,
    measure_all,
)
from dircal.inference._drawn_sums import Source
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.inference._resampling import draw_by_source, range_of, sources_of
from dircal.inference._result import AbstractResult
from dircal.inference._show import html_of_result, show_source
from dircal.inference._soft_rows import once_each
from dircal.metrics import Predictions
from dircal.tables import check_random_state

__all__ = ["ConfidenceInterval", "confidence_interval"]


@dataclass(frozen=True)
class ConfidenceInterval(AbstractResult):
    """Result of `confidence_interval`.

    Parameters
    ----------
    estimate : float
        The measure of the rows.
    low, high : float
        Ends of the interval.
    corrected : float
        The value that the interval is one of: the estimate without what chance adds to absolute
        gaps; the same for other measures.
    level : float
        How often such intervals hold the true value.
    measure : str
        Name of the measure.
    n_samples : int
        Number of rows.
    source : {"draws", "moments", "multipliers"}
        Whether rows were drawn, or sums over rows from their moments, or rows got random signs.
    """

    estimate: float
    low: float
    high: float
    corrected: float
    level: float
    measure: str
    n_samples: int
    source: Source = "draws"

    def __repr__(self) -> str:
        estimate, corrected = f"{self.estimate:.4g}", f"{self.corrected:.4g}"
        # The interval is one of the value without bias, and is told beside it.
        unbiased = "" if estimate == corrected else f"without bias {corrected}, "
        told = show_source(self.source, ", ")
        return (
            f"<ConfidenceInterval: {self.measure} {estimate} on {self.n_samples:,} rows; {unbiased}"
            f"{format_interval(self.low, self.high, self.level)}{told}>"
        )

    def _repr_html_(self) -> str:
        told = show_source(self.source, ", ")
        return html_of_result(
            "Confidence interval",
            f"{format_interval(self.low, self.high, self.level)}{told}",
            None,
            estimate=f"{self.measure} {self.estimate:.4g} on {self.n_samples:,} rows",
            without_bias=f"{self.corrected:.4g}",
        )


def confidence_interval(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    metric: Any,
    *,
    level: float = 0.95,
    n_resamples: int = 2_000,
    random_state: int | np.random.Generator | None = 0,
    classes: Iterable[Any] | None = None,
) -> ConfidenceInterval:
    r"""Interval for the value that a measure would have on endlessly many rows.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    metric : str or callable
        A measure of `dircal.metrics`, by name or as a function; with options as
        ``functools.partial(classwise_ece, aggregate="sum")``. A function of your own has to take
        ``(y_true, y_prob, *, sample_weight, classes)``; it is called once for every draw.
    level : float, default=0.95
        How often such intervals hold the true value.
    n_resamples : int, default=2_000
        Number of draws, at least 100.
    random_state : int, numpy Generator or None, default=0
        Seed of the draws.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.

    Returns
    -------
    ConfidenceInterval
        With ``estimate``, ``low`` and ``high``; printed, it is a sentence.

    Notes
    -----
    Rows are drawn with replacement, n of n, again and again (bootstrap); each draw has its own
    value :math:`\theta^*` of the measure.

    *Means of what rows lose* (`accuracy`, `error_rate`, `log_loss`, `brier_score`): quantiles of
    the draws, at levels that correct for bias and skewness (BCa) [1]_:

    .. math:: \Phi\left(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\right)

    in place of :math:`\Phi(z)`, with the normal distribution function :math:`\Phi`, the quantile z
    of the level, :math:`\Phi(z_0)` the share of draws below the estimate, and a sixth a of the
    skewness of the mean.

    *Sums of absolute gaps* (`confidence_ece`, `class_ece`, `classwise_ece`, `smooth_ece`): chance
    makes them too large, and draws, where it strikes twice, larger still. Quantiles of the draws
    often do not even hold the estimate. Instead, with gaps :math:`g_b` (share of a bin times its
    frequency less its mean probability) and their deviations :math:`d_b = g_b^* - g_b` in the
    draws, a true error of :math:`\lambda \sum_b |g_b|` is held by the interval if the measured
    one is an ordinary one among

    .. math:: \sum_b |\lambda g_b + d_b| .

    The ends are never below zero, and ``corrected`` is the error among which the measured one is
    the median. Where the measured value itself is beyond the upper end, the interval is widened to
    hold it. Bins of equal mass, and the bandwidth of `smooth_ece`, stay those of the rows. In
    simulations these intervals held the truth 93 to 98 times of 100. `classwise_ece` needs more:
    with few rows per class its gaps are mostly noise, and many bins have no event at all. Below
    100,000 rows, labels drawn from the predictions replace draws of rows as far as the interval
    comes near zero, so that it contains zero whenever `calibration_test` does not reject. It is
    meant for at least 100 rows per class, and below that there is a `SmallSampleWarning`: for ten
    overconfident classes, it covered in 81 % of samples with 20 rows per class, 87 % with 50 and
    95 % with 100, but in 84 % if most probabilities are near 0 or 1.

    *Everything else*: quantiles of the draws, shifted so that the mean draw is the estimate.

    From 100,000 rows on, sums over rows are drawn from the normal distribution with the mean and
    covariance of those of drawn rows, and a little skewness: the same in a fraction of the time. In
    simulations these intervals held the truth 94 to 95 times of 100. The result says "moments".
    With more than 3000 sums, as of 15 bins for each of 200 classes, random signs stand for draws of
    some 100,000 of the rows (wild bootstrap), and the result says "multipliers".

    There is no interval for `maximum_calibration_error`: the largest gap is mostly that of the
    bin with the fewest rows, and drawing again makes it larger whatever the truth.

    There are no sample weights: a weight would say that a row stands for several, but not whether
    these were drawn together or apart. Rows with soft labels are drawn with all their annotators,
    of whom every row has to have as many.

    **When not to use it.** Where rows belong together (frames of a video, visits of a patient):
    they are drawn as if each were on its own, and intervals come out too narrow. With fewer than
    some hundred rows, or a loss that a few rows decide, as the log-loss of an overconfident model:
    the rows that would widen the interval are not among those to draw from.

    References
    ----------
    .. [1] Efron (1987). Better bootstrap confidence intervals. JASA.

    Examples
    --------
    >>> from dircal import GenerativeParameters, confidence_interval
    >>> world = GenerativeParameters([[1.2, 0.6], [0.5, 1.5]], [0.3, 0.7])
    >>> q, y = world.sample(1000, random_state=0)
    >>> confidence_interval(y, q, "log_loss", random_state=0)
    <ConfidenceInterval: log_loss 0.44... on 1,000 rows; 95 %: 0.4... to 0.4...>
    >>> confidence_interval(y, q, "confidence_ece", random_state=0)
    <ConfidenceInterval: confidence_ece 0.0... on 1,000 rows; without bias 0.0..., 95 %: ...>
    """
    check_drawing(level, n_resamples)
    rng = check_random_state(random_state)
    measure = check_measure_with_interval(metric)
    predictions = once_each(Predictions.check(y_true, y_prob, None, classes))
    _warn_few_rows(measure, predictions)
    seed = int(rng.integers(2**63))
    [interval] = intervals_of([measure], predictions, level, n_resamples, seed)
    return interval


def _warn_few_rows(measure: ChosenMeasure, predictions: Predictions) -> None:
    n, k = predictions.n_samples, predictions.n_classes
    needed = INFERENCE_LIMITS.get().min_class_rows
    if measure.name == "classwise_ece" and n < needed * k:
        warn(
            f"`y_true` has {n:,} rows for {k} classes. The interval of classwise_ece contains zero "
            "if the test of calibration does not reject, but its lower end may exceed the true "
            f"error of a miscalibrated model. Use at least {needed} rows per class, {needed * k:,} "
            "in all.",
            SmallSampleWarning,
        )


def intervals_of(
    measures: Sequence[ChosenMeasure],
    predictions: Predictions,
    level: float,
    n_resamples: int,
    seed: int,
) -> list[ConfidenceInterval]:
    """`confidence_interval` of several measures, each as alone with the same draws."""
    values, n = measure_all(measures, predictions), predictions.n_samples
    sources = sources_of(measures, [predictions])
    [drawn] = draw_by_source(measures, [predictions], [values], n_resamples, seed, sources)
    found = []
    for measure, value, draws, source in zip(measures, values, drawn, sources, strict=True):
        ends = range_of(draws.own, value, level)
        numbers = (value, ends.low, ends.high, ends.corrected)
        found.append(ConfidenceInterval(*numbers, level, measure.name, n, source))
    return found
