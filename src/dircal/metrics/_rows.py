"""Checked rows, read a block at a time and put into bins: what every calibration error needs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import row_slices
from dircal._core.stats.bins import Bins, BinTable, tabulate
from dircal._core.stats.null_resampling import BinChance, bin_chances
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics._binning import BinRule
from dircal.metrics._blocks import ConfidenceBlock
from dircal.metrics._curves import CurvePoints, Curves
from dircal.validation import check_confidence

__all__ = ["AbstractRows", "ConfidenceRows"]

_AnyBlock = TypeVar("_AnyBlock", covariant=True)
_Key = TypeVar("_Key", bound=Hashable)
_Result = TypeVar("_Result")


class AbstractRows(ABC, Generic[_AnyBlock]):
    """Checked rows that can be run over; what is computed of them once is kept."""

    sample_weight: FloatArray | None

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers as they were given."""

    @abstractmethod
    def __iter__(self) -> Iterator[_AnyBlock]:
        """One block after another; rows of weight zero are left out."""

    def once(self, compute: Callable[[Self, _Key], _Result], key: _Key) -> _Result:
        """``compute(self, key)``, at the first call only: for small things that several need."""
        known = self._known
        if (compute, key) not in known:
            known[compute, key] = compute(self, key)
        result: _Result = known[compute, key]
        return result

    def points(self, curves: Curves[_AnyBlock]) -> Iterator[CurvePoints]:
        """The points of some curves, a block at a time."""
        return (curves.points(block) for block in self)

    def bins(self, curves: Curves[_AnyBlock], rule: BinRule) -> Bins:
        """The bins of some curves."""
        return rule.make(lambda: self.points(curves), self.dtype)

    def table(self, curves: Curves[_AnyBlock], rule: BinRule) -> BinTable:
        """What falls into these bins, in one pass, or in two where the rows decide the bins."""
        return self.once(_tabulate, (curves, rule))

    def chances(self, curves: Curves[_AnyBlock], rule: BinRule) -> list[list[BinChance]]:
        """For each curve, how many rows of each bin would happen if every prediction were true."""
        return self.once(_chances, (curves, rule))

    @cached_property
    def _known(self) -> dict[Any, Any]:
        return {}


def _tabulate(rows: AbstractRows[Any], key: tuple[Curves[Any], BinRule]) -> BinTable:
    bins = rows.bins(*key)
    parts = rows.points(key[0])
    return reduce(add, (tabulate(bins, p.values, p.outcomes, p.weight) for p in parts))


def _chances(rows: AbstractRows[Any], key: tuple[Curves[Any], BinRule]) -> list[list[BinChance]]:
    values = np.concatenate([part.values for part in rows.points(key[0])], axis=1)
    return bin_chances(values, rows.table(*key).bins)


@dataclass(frozen=True, eq=False)
class ConfidenceRows(AbstractRows[ConfidenceBlock]):
    """Checked confidences (n,), whether they were right, and weights (n,)."""

    values: npt.NDArray[Any]
    right: npt.NDArray[np.bool_]
    sample_weight: FloatArray | None

    @classmethod
    def check(
        cls, correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Through the door: the arguments of a measure of the confidence."""
        return cls(*check_confidence(correct, confidence, sample_weight))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the confidences."""
        return self.values.dtype

    def __iter__(self) -> Iterator[ConfidenceBlock]:
        for part in row_slices((len(self.values), 1)):
            # Confidences that were rounded may exceed one by a hair.
            confidence = np.minimum(self.values[part].astype(np.float64), 1.0)
            hits, weight = self.right[part], None
            if self.sample_weight is not None:
                weight = self.sample_weight[part]
                used = weight > 0
                confidence, hits, weight = confidence[used], hits[used], weight[used]
            yield ConfidenceBlock(confidence, hits, weight)
