"""Checked rows as a source that is folded: what every measure needs.

A measure says what it makes of a block of rows and how blocks add up; the source does the rest, in
memory or elsewhere. Only what is no sum by nature asks for the rows themselves.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource, AbstractSums, Chunk, Together, once
from dircal._core.stats.bins import BinTable, tabulate
from dircal._core.stats.chances import BinChance, ChanceSums
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.metrics._binning import BinRule, EqualMass, FixedBinRule
from dircal.metrics._blocks import ConfidenceBlock
from dircal.metrics._curves import Curves
from dircal.tables import check_confidence

__all__ = ["AbstractRows", "ConfidenceRows", "MeanOf", "TableOf"]

_AnyBlock = TypeVar("_AnyBlock")
_RowBlock = TypeVar("_RowBlock", covariant=True)
_Result = TypeVar("_Result")


class AbstractRows(ABC, Generic[_RowBlock]):
    """Checked rows that can be folded; sums that several ask for are made once and kept."""

    source: AbstractChunkSource
    dtype: np.dtype[Any]
    """Type of the numbers as they were given."""

    @property
    @abstractmethod
    def as_block(self) -> Callable[[Chunk, FloatArray | None], _RowBlock]:
        """What makes a block of a chunk and its weights."""

    @property
    def n_samples(self) -> int:
        """Number of rows n, those of weight zero included."""
        return self.source.n_samples

    @property
    def is_weighted(self) -> bool:
        """Whether rows may differ in weight."""
        return self.source.is_weighted

    @property
    def has_soft_labels(self) -> bool:
        """Whether rows may have several labels, each with its probability."""
        return False

    def fold(self, function: Callable[[_RowBlock], _Result]) -> _Result:
        """The sum, by ``+=``, of what ``function`` makes of each block of rows with weight."""
        return self.source.fold(self.on_chunks(function))

    def on_chunks(self, function: Callable[[_RowBlock], _Result]) -> Callable[[Chunk], _Result]:
        """The same ``function``, of a chunk of the source."""
        total = self.source.total_weight if self.is_weighted else None
        return _OfBlock(function, self.as_block, total)

    def fold_all(self, functions: Sequence[Callable[[_RowBlock], Any]]) -> list[Any]:
        """The sums of several functions in one pass; those that were asked for before are known.

        Functions that are equal mean the same sums.
        """
        known = self._known
        fresh = [one for one in dict.fromkeys(functions) if one not in known]
        if fresh:
            known.update(zip(fresh, self.fold(Together(tuple(fresh))).values, strict=True))
        return [known[one] for one in functions]

    def fold_once(self, function: Callable[[_RowBlock], _Result]) -> _Result:
        """The sums of one function, at the first call only."""
        [sums] = self.fold_all([function])
        result: _Result = sums
        return result

    def gather(self, function: Callable[[_RowBlock], _Result], why: str) -> list[_Result]:
        """What ``function`` makes of each block, for what is no sum: rows have to be in memory."""
        if not self.source.is_in_memory:
            raise ValueError(
                f"{why} looks at all rows at once, but these are read in parts. Pass arrays that "
                "fit into memory, or choose what is a sum over rows, as `strategy='width'`."
            )
        return self.fold(_Listed(function))

    def table(self, curves: Curves[_RowBlock], rule: BinRule) -> BinTable:
        """What falls into these bins, in one pass, or in two where the rows decide the bins."""
        return self.fold_once(TableOf(curves, self.settle(curves, rule), self.dtype))

    def chances(self, curves: Curves[_RowBlock], rule: BinRule) -> list[list[BinChance]]:
        """For each curve, how many rows of each bin would happen if every prediction were true."""
        known, step = self._known, _ChancesOf(curves, self.settle(curves, rule), self.dtype)
        if step not in known:
            known[step] = self.fold(step).finish()
        chances: list[list[BinChance]] = known[step]
        return chances

    def settle(self, curves: Curves[_RowBlock], rule: BinRule) -> FixedBinRule:
        """The ``rule`` itself, or where the rows decide its bins, these bins."""
        if not isinstance(rule, EqualMass):
            return rule
        known, key = self._known, (curves, rule)
        if key not in known:
            parts = self.gather(curves.points, "`strategy` is 'mass', which")
            known[key] = rule.of_points(parts)
        settled: FixedBinRule = known[key]
        return settled

    @cached_property
    def _known(self) -> dict[Hashable, Any]:
        return {}


@dataclass(frozen=True)
class _OfBlock(Generic[_AnyBlock, _Result]):
    """A function of blocks as one of chunks; a kept chunk keeps its block."""

    function: Callable[[_AnyBlock], _Result]
    as_block: Callable[[Chunk, FloatArray | None], _AnyBlock]
    total_weight: float | None

    def __call__(self, chunk: Chunk) -> _Result:
        return self.function(
            once(chunk.memo, "block", self.total_weight, lambda: self._block(chunk))
        )

    def _block(self, chunk: Chunk) -> _AnyBlock:
        total = self.total_weight
        return self.as_block(chunk, None if total is None else chunk.weight * total)


@dataclass(frozen=True)
class _Listed(Generic[_AnyBlock, _Result]):
    """What a function makes of a block, as a list: lists add up by joining."""

    function: Callable[[_AnyBlock], _Result]

    def __call__(self, block: _AnyBlock) -> list[_Result]:
        return [self.function(block)]


@dataclass
class RowSum(AbstractSums):
    """The weighted sum of one number of each row, and that of the weights."""

    total: float
    weight: float

    @property
    def value(self) -> float:
        """The weighted mean."""
        return self.total / self.weight


@dataclass(frozen=True)
class MeanOf(Generic[_AnyBlock]):
    """The mean of one number of each row."""

    of_rows: Callable[[_AnyBlock], npt.NDArray[Any]]

    def __call__(self, block: Any) -> RowSum:
        values = self.of_rows(block)
        if block.weight is None:
            return RowSum(float(values.sum()), float(len(values)))
        return RowSum(float(block.weight @ values), float(block.weight.sum()))


@dataclass(frozen=True)
class TableOf(Generic[_AnyBlock]):
    """What falls into the bins of some curves."""

    curves: Curves[_AnyBlock]
    rule: FixedBinRule
    dtype: np.dtype[Any]

    def __call__(self, block: _AnyBlock) -> BinTable:
        points = self.curves.points(block)
        bins = self.rule.make(self.dtype)
        return tabulate(bins, points.values, points.outcomes, points.weight, points.shares)


@dataclass(frozen=True)
class _ChancesOf(Generic[_AnyBlock]):
    """How many rows of each bin of some curves would happen."""

    curves: Curves[_AnyBlock]
    rule: FixedBinRule
    dtype: np.dtype[Any]

    def __call__(self, block: _AnyBlock) -> ChanceSums:
        return ChanceSums.of(self.curves.points(block).values, self.rule.make(self.dtype))


@dataclass(frozen=True, eq=False)
class ConfidenceRows(AbstractRows[ConfidenceBlock]):
    """Checked confidences, whether they were right, and weights, as a source with one column."""

    source: AbstractChunkSource
    dtype: np.dtype[Any]

    @classmethod
    def check(
        cls, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Through the door: the arguments of a measure of the confidence."""
        values, right, weight = check_confidence(correct, confidence, sample_weight)
        labels: IntArray = right.astype(np.int64)
        source = ArraySource(values[:, None], labels, weight, _read_confidence, cache_bytes=0)
        return cls(source, values.dtype)

    @property
    def as_block(self) -> Callable[[Chunk, FloatArray | None], ConfidenceBlock]:
        """A block of confidences."""
        return ConfidenceBlock.of_chunk


def _read_confidence(rows: npt.NDArray[Any]) -> FloatArray:
    """Confidences (1, m); those that were rounded may exceed one by a hair."""
    return np.minimum(rows.T.astype(np.float64), 1.0)
