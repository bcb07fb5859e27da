"""Rows drawn again, with replacement, for several measures of several predictions at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dircal._core.stats.bootstrap import bootstrap_sums
from dircal._core.stats.confidence import ConfidenceDistribution, interval_of, two_sided
from dircal._progress import Progress
from dircal._typing import ArrayLike, LabelArray
from dircal.inference._draws_base import Draws, OtherDraws
from dircal.inference._measure_base import Measure
from dircal.inference._sums_base import BUILDERS, Summed
from dircal.metrics._base import read_predictions

__all__ = ["Difference", "Range", "difference_of", "draw_together", "range_of"]


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
    measures: Sequence[Measure],
    y_true: ArrayLike,
    predictions: Sequence[ArrayLike],
    classes: Iterable[Any] | None,
    n_resamples: int,
    rng: np.random.Generator,
) -> list[list[Draws]]:
    """Draws of every measure for each of the ``predictions``, all of the same rows.

    Measures that are sums over rows are summed; others are called for every draw, with the number
    of times that a row was drawn as its weight.
    """
    seed = int(rng.integers(2**63))
    checked = [read_predictions(y_true, y_prob, None, classes) for y_prob in predictions]
    summed: list[Summed] = [
        BUILDERS[measure.function](one, measure.settings)
        for one in checked
        for measure in measures
        if measure.function in BUILDERS
    ]
    drawn = iter(_draw_sums(summed, n_resamples, np.random.default_rng(seed)))
    return [
        [
            next(drawn)
            if measure.function in BUILDERS
            else _by_weights(measure, y_true, y_prob, one.data.column_classes, n_resamples, seed)
            for measure in measures
        ]
        for y_prob, one in zip(predictions, checked, strict=True)
    ]


def range_of(draws: Draws, value: float, level: float) -> Range:
    """The interval of a measure that has this ``value``.

    Where the correction of the bias puts the value itself outside, the interval is widened.
    """
    low, high = interval_of(draws.confidence(), level)
    corrected = draws.without_bias(value)
    return Range(min(low, corrected, value), max(high, corrected, value), corrected)


def difference_of(mine: Draws, others: Draws, level: float) -> Difference:
    """The interval of a difference of two measures; where there are several ways, it holds all."""
    ways: list[ConfidenceDistribution] = mine.differences(others)
    lows, highs = zip(*(interval_of(way, level) for way in ways), strict=True)
    return Difference(min(lows), max(highs), two_sided(ways, 0.0))


def _draw_sums(
    summed: Sequence[Summed], n_resamples: int, rng: np.random.Generator
) -> Iterable[Draws]:
    if not summed:
        return
    columns = sparse.hstack([one.columns for one in summed], format="csr")
    with Progress("Drawing rows", n_resamples, "draws") as progress:
        sums = bootstrap_sums(columns, n_resamples, rng, progress.advance)
    total = np.asarray(columns.sum(axis=0)).ravel()
    start = 0
    for one in summed:
        part = slice(start, start + one.columns.shape[1])
        yield one.draws(total[part], sums[:, part])
        start = part.stop


def _by_weights(
    measure: Measure,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    classes: LabelArray,
    n_resamples: int,
    seed: int,
) -> Draws:
    """Call the measure for every draw; the classes stay all of them."""
    rng, values = np.random.default_rng(seed), np.empty(n_resamples)
    n = len(y_true)
    with Progress("Drawing rows", n_resamples, "draws") as progress:
        for i in range(n_resamples):
            counts = np.bincount(rng.integers(0, n, n), minlength=n)
            values[i] = measure(y_true, y_prob, sample_weight=counts, classes=classes)
            progress.advance(1)
    return OtherDraws(values, measure(y_true, y_prob, classes=classes))
