"""How many of the rows of a bin happen, if each does with the probability that was predicted."""

from dataclasses import dataclass, field
from functools import reduce
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy import fft

from dircal._core.stats.bins import Bins
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = ["BinChance", "ChanceSums", "CountDistribution", "count_distribution", "join_counts"]


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
    limits = RESAMPLING_LIMITS.get()
    n_groups = 1 << max(0, int(np.ceil(np.log2(max(len(proba), 1) / limits.chance_leaf))))
    dealt = np.zeros((limits.chance_leaf, n_groups))
    dealt.ravel()[: len(proba)] = np.sort(proba)
    # A column for each group, so that a step runs along memory.
    by_count = np.zeros((limits.chance_leaf + 1, n_groups))
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
        kept = np.flatnonzero(counts.max(axis=0) > limits.min_chance)
        first = 2 * first + int(kept[0])
        counts = counts[:, kept[0] : kept[-1] + 1]
    return CountDistribution(first, counts[0] / counts[0].sum())


def join_counts(one: CountDistribution, other: CountDistribution) -> CountDistribution:
    """Distribution of the sum of two independent counts."""
    length = len(one.proba) + len(other.proba) - 1
    size = fft.next_fast_len(length, real=True)
    waves = fft.rfft(one.proba, size) * fft.rfft(other.proba, size)
    proba = np.maximum(fft.irfft(waves, size)[:length], 0.0)
    kept = np.flatnonzero(proba > RESAMPLING_LIMITS.get().min_chance)
    proba = proba[kept[0] : kept[-1] + 1]
    return CountDistribution(one.first + other.first + int(kept[0]), proba / proba.sum())


@dataclass(frozen=True, eq=False)
class BinChance:
    """How many of the ``n_rows`` rows of a bin happen if each does with its own probability."""

    position: int
    n_rows: int
    expected: float
    counts: CountDistribution


@dataclass
class _BinRows:
    """Rows of a bin: probabilities that wait, and the counts of those that do no more.

    Counts of like numbers of rows are joined in pairs, as the digits of a binary number are
    carried: few are ever held, and all are joined with their like.
    """

    n_rows: int
    expected: float
    waiting: list[FloatArray]
    counted: list[tuple[int, CountDistribution]] = field(default_factory=list)

    def __iadd__(self, other: Self) -> Self:
        self.n_rows += other.n_rows
        self.expected += other.expected
        self.waiting += other.waiting
        for n_rows, counts in other.counted:
            self._carry(n_rows, counts)
        if sum(map(len, self.waiting)) >= RESAMPLING_LIMITS.get().chance_rows:
            self._count_waiting()
        return self

    def chance(self, position: int) -> BinChance:
        """With the counts of all rows."""
        if self.waiting:
            self._count_waiting()
        all_counts = reduce(join_counts, (counts for _, counts in self.counted[::-1]))
        return BinChance(position, self.n_rows, self.expected, all_counts)

    def _count_waiting(self) -> None:
        proba = np.concatenate(self.waiting)
        self.waiting = []
        self._carry(len(proba), count_distribution(proba))

    def _carry(self, n_rows: int, counts: CountDistribution) -> None:
        while self.counted and self.counted[-1][0] < 2 * n_rows:
            more, others = self.counted.pop()
            n_rows, counts = n_rows + more, join_counts(counts, others)
        self.counted.append((n_rows, counts))


@dataclass
class ChanceSums:
    """For each curve, the rows of the bins that hold any, by the position of the bin."""

    curves: list[dict[int, _BinRows]]

    @classmethod
    def of(cls, values: FloatArray, bins: Bins) -> Self:
        """Of probabilities (c, m) of some rows."""
        pairs = zip(values, bins.index(values), strict=True)
        return cls([_rows_by_bin(*pair) for pair in pairs])

    def __iadd__(self, other: Self) -> Self:
        for mine, others in zip(self.curves, other.curves, strict=True):
            for position, rows in others.items():
                if position in mine:
                    mine[position] += rows
                else:
                    mine[position] = rows
        return self

    def finish(self) -> list[list[BinChance]]:
        """The bins that hold rows, for each curve in rising order."""
        return [[curve[b].chance(b) for b in sorted(curve)] for curve in self.curves]


def _rows_by_bin(values: FloatArray, index: IntArray) -> dict[int, _BinRows]:
    # Integers of few bits are sorted by counting.
    order = index.astype(np.min_scalar_type(int(index.max()))).argsort(kind="stable")
    used, starts = np.unique(index[order], return_index=True)
    members = np.split(values[order].clip(0.0, 1.0), starts[1:])
    return {
        b: _BinRows(len(proba), float(proba.sum()), [proba])
        for b, proba in zip(used.tolist(), members, strict=True)
    }
