"""Rows drawn again, with replacement, for several measures of several predictions at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dircal._core.stats.bootstrap import bootstrap_sums
from dircal._core.stats.confidence import (
    ConfidenceDistribution,
    StudentisedMean,
    interval_of,
    two_sided,
)
from dircal._progress import Progress
from dircal._threads import limited_blas
from dircal._typing import FloatArray
from dircal.inference._chosen_measure import ChosenMeasure
from dircal.inference._draws import Draws, OtherDraws, draws_of_sums
from dircal.metrics import IntervalRule, Predictions, Summed

__all__ = [
    "Difference",
    "Range",
    "difference_between",
    "difference_of",
    "draw_together",
    "range_of",
]


@dataclass(frozen=True)
class Range:
    """An interval, and the value without bias."""

    low: float
    high: float
    corrected: float


@dataclass(frozen=True)
class Difference:
    """An interval of a difference, and the p-value of its being zero."""

    low: float
    high: float
    pvalue: float


def draw_together(
    measures: Sequence[ChosenMeasure],
    several: Sequence[Predictions],
    n_resamples: int,
    rng: np.random.Generator,
) -> list[list[Draws]]:
    """Draws of every measure for each of ``several`` predictions, all of the same rows.

    Measures that are sums over rows are summed; others are called for every draw, with the number
    of times that a row was drawn as its weight.
    """
    seed = int(rng.integers(2**63))
    pairs = [(measure, one) for one in several for measure in measures]
    sums = [measure.sums(one) for measure, one in pairs]
    rules = [measure.record.interval for measure, _ in pairs]
    summed = [(rule, one) for rule, one in zip(rules, sums, strict=True) if one is not None]
    from_sums = _draw_sums(summed, n_resamples, np.random.default_rng(seed))
    drawn = [
        _by_weights(*pair, n_resamples, seed) if one is None else next(from_sums)
        for pair, one in zip(pairs, sums, strict=True)
    ]
    n = len(measures)
    return [drawn[i * n : (i + 1) * n] for i in range(len(several))]


def range_of(draws: Draws, value: float, level: float) -> Range:
    """The interval of a measure that has this ``value``.

    Where the correction of the bias puts the value itself outside, the interval is widened.
    """
    low, high = interval_of(draws.confidence(), level)
    corrected = draws.without_bias(value)
    return Range(min(low, corrected, value), max(high, corrected, value), corrected)


def difference_between(
    measure: ChosenMeasure,
    both: Sequence[Predictions],
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Difference:
    """The interval of a difference of two predictions; rows are drawn only where that is needed."""
    if measure.record.interval is IntervalRule.BCA:
        mine, others = (_losses(measure, one) for one in both)
        return _difference([StudentisedMean(mine - others, n_resamples)], level)
    [draws], [draws_of_others] = draw_together([measure], both, n_resamples, rng)
    return difference_of(draws, draws_of_others, level)


def difference_of(mine: Draws, others: Draws, level: float) -> Difference:
    """The interval of a difference of two measures that were drawn together."""
    return _difference(mine.differences(others), level)


def _difference(ways: Sequence[ConfidenceDistribution], level: float) -> Difference:
    """Where there are several ways, the interval holds all."""
    lows, highs = zip(*(interval_of(way, level) for way in ways), strict=True)
    return Difference(min(lows), max(highs), two_sided(ways, 0.0))


def _losses(measure: ChosenMeasure, predictions: Predictions) -> FloatArray:
    """What each row loses (n,)."""
    summed = measure.sums(predictions)
    assert summed is not None
    losses: FloatArray = summed.terms.dense[0]
    return losses


def _draw_sums(
    summed: Sequence[tuple[IntervalRule | None, Summed]],
    n_resamples: int,
    rng: np.random.Generator,
) -> Iterator[Draws]:
    if not summed:
        return
    terms = [one.terms for _, one in summed]
    with (
        # Products with some hundred columns are too small for a second thread to pay.
        limited_blas((terms[0].dense.shape[1], 1)),
        Progress("Drawing rows", n_resamples, "draws") as progress,
    ):
        sums = bootstrap_sums(terms, n_resamples, rng, progress.advance)
    for (rule, one), drawn in zip(summed, sums, strict=True):
        assert rule is not None
        yield draws_of_sums(rule, one, drawn)


def _by_weights(
    measure: ChosenMeasure, predictions: Predictions, n_resamples: int, seed: int
) -> Draws:
    """Call the measure for every draw; the classes stay all of them."""
    rng, values = np.random.default_rng(seed), np.empty(n_resamples)
    n = predictions.n_samples
    with Progress("Drawing rows", n_resamples, "draws") as progress:
        for i in range(n_resamples):
            counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
            values[i] = measure.value(predictions.with_weight(counts))
            progress.advance(1)
    return OtherDraws(values, measure.value(predictions))
