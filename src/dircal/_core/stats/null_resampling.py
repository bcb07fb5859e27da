"""Calibration errors of labels that are drawn from the predictions themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft

from dircal._core.stats.bins import Bins
from dircal._typing import FloatArray, IntArray

__all__ = [
    "BinChance",
    "CountDistribution",
    "LabelDraws",
    "bin_chances",
    "count_distribution",
    "null_classwise_ece",
    "null_confidence_ece",
]

# Rows whose count is worked out one row after another, before counts are joined in pairs.
_LEAF = 32
# Probabilities below this are rounding errors of the Fourier transform.
_NOTHING = 1e-16
# Rows that leave their most probable class less often than this never do.
_SMALLEST_SUM = 1e-300
# Rows of several draws that are handled at once: enough to hide the cost of a call.
_ROWS_AT_ONCE = 16_384
# Uniform numbers that several predictions share at once: 16 MB.
_SHARED_AT_ONCE = 2**21
# Cells of several draws that are counted at once: 8 MB for each array of counts.
_CELLS_AT_ONCE = 2**20


@dataclass(frozen=True)
class CountDistribution:
    """How many of some independent events happen: ``first + i`` with probability ``proba[i]``."""

    first: int
    proba: FloatArray

    def draw(self, size: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Counts (size,), by inverting the distribution function."""
        below = self.proba.cumsum()
        below[-1] = np.inf
        return self.first + np.searchsorted(below, rng.random(size), side="right")


def count_distribution(proba: FloatArray) -> CountDistribution:
    """Distribution of the number of events, of which each happens with its ``proba`` (m,).

    This Poisson-binomial distribution is the convolution of one Bernoulli for each row: small
    groups by recursion, groups in pairs by the Fourier transform. Each group is dealt rows of all
    sizes, so that all have nearly the same mean and keep a common, narrow range of counts.
    """
    n_groups = 1 << max(0, int(np.ceil(np.log2(max(len(proba), 1) / _LEAF))))
    dealt = np.zeros((_LEAF, n_groups))
    dealt.ravel()[: len(proba)] = np.sort(proba)
    # A column for each group, so that a step runs along memory.
    by_count = np.zeros((_LEAF + 1, n_groups))
    by_count[0] = 1.0
    for i, chance in enumerate(dealt):
        happens = by_count[: i + 1] * chance
        by_count[: i + 1] -= happens
        by_count[1 : i + 2] += happens
    counts = np.ascontiguousarray(by_count.T)
    first = 0
    while len(counts) > 1:
        length = 2 * counts.shape[1] - 1
        size = fft.next_fast_len(length, real=True)
        waves = fft.rfft(counts, size, axis=1)
        joined = fft.irfft(waves[::2] * waves[1::2], size, axis=1)
        counts = np.maximum(joined[:, :length], 0.0)
        kept = np.flatnonzero(counts.max(axis=0) > _NOTHING)
        first = 2 * first + int(kept[0])
        counts = counts[:, kept[0] : kept[-1] + 1]
    return CountDistribution(first, counts[0] / counts[0].sum())


@dataclass(frozen=True, eq=False)
class BinChance:
    """How many of the ``n_rows`` rows of a bin happen if each does with its own probability."""

    position: int
    n_rows: int
    expected: float
    counts: CountDistribution


def bin_chances(values: FloatArray, bins: Bins) -> list[list[BinChance]]:
    """The bins that hold rows, for each curve of ``values`` (c, n), in rising order."""
    return [_chances_of_curve(*pair) for pair in zip(values, bins.index(values), strict=True)]


def _chances_of_curve(values: FloatArray, index: IntArray) -> list[BinChance]:
    # Integers of few bits are sorted by counting.
    order = index.astype(np.min_scalar_type(int(index.max()))).argsort(kind="stable")
    used, starts = np.unique(index[order], return_index=True)
    members = np.split(values[order].clip(0.0, 1.0), starts[1:])
    return [
        BinChance(b, len(proba), float(proba.sum()), count_distribution(proba))
        for b, proba in zip(used.tolist(), members, strict=True)
    ]


def null_confidence_ece(
    chances: Sequence[BinChance], n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Calibration errors (n_resamples,) of one curve if every prediction is true.

    Only the number of events in a bin matters, so that number is drawn, from its own
    distribution; the rows are not.
    """
    errors = np.zeros(n_resamples)
    for chance in chances:
        errors += np.abs(chance.counts.draw(n_resamples, rng) - chance.expected)
    return errors / sum(chance.n_rows for chance in chances)


@dataclass(frozen=True, eq=False)
class LabelDraws:
    """What is needed to draw a label for every row, again and again.

    Parameters
    ----------
    stays : array (n,)
        Probability of the most probable class. Most rows keep it; only departures cost work.
        Infinite where no other class is possible: rounding may leave such a row short of one.
    leaves_to : array (n * others,)
        For each row the running sum of the probabilities of the other classes, the likely ones
        first, up to the last possible one, from which on it is infinite.
    scale : array (n,)
        Number of others over the last sum: cuts the sums of a row into slots of equal size.
    first : array (n * others,)
        For each row and slot, how many sums end before it: where to begin to look.
    cells : array (n * others,)
        For each row and other class the cell ``class * n_bins + bin`` of its probability.
    top_cells : array (n,)
        The cell of the most probable class.
    excess : array (k * n_bins,)
        Rows that happen in each cell if every row keeps its most probable class, less the sum of
        the probabilities in the cell.
    """

    stays: FloatArray
    leaves_to: FloatArray
    scale: FloatArray
    first: IntArray
    cells: IntArray
    top_cells: IntArray
    excess: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.stays)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.cells) // len(self.stays) + 1

    @classmethod
    def prepare(cls, proba: FloatArray, bins: Bins) -> "LabelDraws":
        """From probabilities (k, n)."""
        k, n = proba.shape
        n_cells, others = k * bins.n_bins, k - 1
        index = bins.index(proba) + np.arange(0, n_cells, bins.n_bins)[:, None]
        sums = np.bincount(index.ravel(), proba.ravel(), minlength=n_cells)
        order = np.argsort(-proba.T, axis=1, kind="stable")
        cells = np.take_along_axis(index.T, order, axis=1)
        top_cells, stays = cells[:, 0].copy(), proba.max(axis=0)
        ends = np.take_along_axis(proba.T, order[:, 1:], axis=1).cumsum(axis=1)
        stays[ends[:, -1] < _SMALLEST_SUM] = np.inf
        scale = others / np.maximum(ends[:, -1], _SMALLEST_SUM)
        # A sum and a draw are put into slots by the same product, so none is put too late.
        slots = (ends * scale[:, None]).astype(np.intp).clip(max=others)
        slots += np.arange(0, n * k, k)[:, None]
        filled = np.bincount(slots.ravel(), minlength=n * k).reshape(n, k)
        first = (filled.cumsum(axis=1) - filled)[:, :others]
        # Rounding may leave a draw above the last sum: it belongs to the last class that can be.
        ends[ends == ends[:, -1:]] = np.inf
        kept = np.bincount(top_cells, minlength=n_cells)
        return cls(
            stays,
            ends.ravel(),
            scale,
            first.astype(np.min_scalar_type(k)).ravel(),
            cells[:, 1:].astype(np.min_scalar_type(n_cells)).ravel(),
            top_cells.astype(np.min_scalar_type(n_cells)),
            kept.astype(np.float64) - sums.astype(np.float64),
        )

    def departures(self, uniform: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """Draws and rows that leave their most probable class, and the cells that they go to.

        The uniform numbers are (draws, n).
        """
        n, others = self.n_rows, self.n_classes - 1
        departs = np.flatnonzero(uniform >= self.stays)
        if len(uniform) == 1:
            draw, row = np.zeros_like(departs), departs
        else:
            draw, row = np.divmod(departs, n)
        beyond = uniform.take(departs)
        beyond -= self.stays.take(row)
        # The least of both before the cast: beyond a tiny sum the product exceeds all integers.
        slot = np.minimum(beyond * self.scale.take(row), others - 1).astype(np.intp)
        place = row * others
        slot += place
        place += self.first.take(slot)
        late = np.flatnonzero(self.leaves_to.take(place) <= beyond)
        while len(late):
            place[late] += 1
            late = late[self.leaves_to.take(place.take(late)) <= beyond.take(late)]
        return draw, row, self.cells.take(place)

    def gaps(self, uniform: FloatArray) -> FloatArray:
        """Rows that happen in each cell less those expected, for uniform numbers (draws, n)."""
        n_draws, n_cells = len(uniform), len(self.excess)
        draw, row, arrivals = self.departures(uniform)
        leavings = self.top_cells.take(row)
        if n_draws > 1:
            draw *= n_cells
            arrivals, leavings = draw + arrivals, draw + leavings
        size = n_draws * n_cells
        moved = np.bincount(arrivals, minlength=size) - np.bincount(leavings, minlength=size)
        return moved.reshape(n_draws, n_cells) + self.excess


def null_classwise_ece(
    several: Sequence[LabelDraws],
    n_resamples: int,
    rng: np.random.Generator,
    advance: Callable[[int], None],
    rows_at_once: int = _ROWS_AT_ONCE,
) -> list[FloatArray]:
    """Mean calibration errors of the classes (n_resamples,) if every prediction is true.

    One array for each of ``several`` predictions of the same rows, which share their uniform
    numbers. Every draw takes n of them in the order of the rows, so the result does not depend on
    how many draws are handled at once. ``advance`` is told how many are done.
    """
    n, n_cells = several[0].n_rows, max(len(one.excess) for one in several)
    errors = np.empty((len(several), n_resamples))
    step = max(1, min(rows_at_once // n, _CELLS_AT_ONCE // n_cells))
    # What is known of one of the predictions stays in the cache for some draws.
    shared = step * max(1, _SHARED_AT_ONCE // (n * step)) if len(several) > 1 else step
    for start in range(0, n_resamples, shared):
        uniform = rng.random((min(shared, n_resamples - start), n))
        for one, found in zip(several, errors[:, start : start + shared], strict=True):
            for first in range(0, len(uniform), step):
                part = slice(first, first + step)
                gaps = np.abs(one.gaps(uniform[part])).sum(axis=1)
                found[part] = gaps / (n * one.n_classes)
        advance(len(uniform))
    return list(errors)
