"""Rows drawn again, with replacement, for several measures of several predictions at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dircal._core.stats.confidence import (
    ConfidenceDistribution,
    StudentisedMean,
    interval_of,
    two_sided,
)
from dircal._progress import Progress
from dircal.inference._chosen_measure import ChosenMeasure
from dircal.inference._drawn_sums import (
    Drawn,
    Source,
    SummedMeasure,
    moments_of_difference,
    resample,
    source_of,
)
from dircal.inference._draws import Draws, GapDraws, OtherDraws
from dircal.inference._null_cells import null_gaps
from dircal.metrics import IntervalRule, Predictions

__all__ = [
    "Difference",
    "Range",
    "difference_between",
    "difference_of",
    "draw_by_source",
    "draw_with_seed",
    "range_of",
    "sources_of",
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


def sources_of(measures: Sequence[ChosenMeasure], several: Sequence[Predictions]) -> list[Source]:
    """Where the draws of each measure of ``several`` predictions come from."""
    return [_source_of(measure, several) for measure in measures]


def _source_of(measure: ChosenMeasure, several: Sequence[Predictions]) -> Source:
    sizes = []
    for one in several:
        sums = measure.sums(one)
        if sums is None:
            return "draws"
        sizes.append(sum(sums.size))
    # Sums are drawn together with those of the first predictions.
    n_sums = sizes[0] + max(sizes[1:], default=0)
    return source_of(several[0].n_samples, n_sums)


def draw_by_source(
    measures: Sequence[ChosenMeasure],
    several: Sequence[Predictions],
    values: Sequence[Sequence[float]],
    n_resamples: int,
    seed: int,
    sources: Sequence[Source],
) -> list[list[Drawn]]:
    """Draws of every measure for each of ``several`` predictions, each measure from its source.

    All that are drawn share a pass over the rows, and so do all that are not.
    """
    found: list[dict[int, Drawn]] = [{} for _ in several]
    for source in dict.fromkeys(sources):
        mine = [j for j, own in enumerate(sources) if own == source]
        some, of_some = [measures[j] for j in mine], [[row[j] for j in mine] for row in values]
        drawn = draw_with_seed(some, several, of_some, n_resamples, seed, source)
        for row, draws in zip(found, drawn, strict=True):
            row.update(zip(mine, draws, strict=True))
    return [[row[j] for j in range(len(measures))] for row in found]


def draw_with_seed(
    measures: Sequence[ChosenMeasure],
    several: Sequence[Predictions],
    values: Sequence[Sequence[float]],
    n_resamples: int,
    seed: int,
    source: Source,
) -> list[list[Drawn]]:
    """Draws of every measure for each of ``several`` predictions, all from one source.

    Measures that are sums over rows are summed; others are called for every draw, with the number
    of times that a row was drawn as its weight. The ``values`` are those of the measures.
    """
    drawn: list[list[Drawn | None]] = [[None] * len(measures) for _ in several]
    summed = []
    for i, one in enumerate(several):
        for j, measure in enumerate(measures):
            sums = measure.sums(one)
            if sums is None:
                drawn[i][j] = Drawn(_by_weights(measure, one, values[i][j], n_resamples, seed))
            else:
                summed.append(SummedMeasure(i, j, measure.record.interval, sums, values[i][j]))
    if summed:
        for which, draws in resample(summed, several, n_resamples, seed, source):
            drawn[which.predictions][which.measure] = draws
            if source == "draws" and isinstance(draws.own, GapDraws):
                rows, measure = several[which.predictions], measures[which.measure]
                own = replace(draws.own, null=null_gaps(measure, rows, n_resamples, seed))
                drawn[which.predictions][which.measure] = replace(draws, own=own)
    return [[draws for draws in row if draws is not None] for row in drawn]


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
    values: Sequence[float],
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Difference:
    """The interval of a difference of two predictions; rows are drawn only where that is needed."""
    if measure.record.interval is IntervalRule.BCA:
        moments = moments_of_difference(measure, both, values[0] - values[1])
        return _difference([StudentisedMean(moments, n_resamples)], level)
    one_of_each, seed = [[value] for value in values], int(rng.integers(2**63))
    [mine], [others] = draw_with_seed([measure], both, one_of_each, n_resamples, seed, "draws")
    return _difference(mine.own.differences(others.own), level)


def difference_of(mine: Drawn, first: Drawn, level: float) -> Difference:
    """The interval of a measure less that of the ``first`` predictions it was drawn with."""
    draws, others = mine.pair or (mine.own, first.own)
    return _difference(draws.differences(others), level)


def _difference(ways: Sequence[ConfidenceDistribution], level: float) -> Difference:
    """Where there are several ways, the interval holds all."""
    lows, highs = zip(*(interval_of(way, level) for way in ways), strict=True)
    return Difference(min(lows), max(highs), two_sided(ways, 0.0))


def _by_weights(
    measure: ChosenMeasure, predictions: Predictions, value: float, n_resamples: int, seed: int
) -> Draws:
    """Call the measure for every draw; the classes stay all of them."""
    rng, values = np.random.default_rng(seed), np.empty(n_resamples)
    n = predictions.n_samples
    with Progress("Drawing rows", n_resamples, "draws") as progress:
        for i in range(n_resamples):
            counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
            values[i] = measure.value(predictions.with_weight(counts))
            progress.advance(1)
    return OtherDraws(values, value)
