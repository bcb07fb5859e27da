"""What a measure makes of rows: sums over blocks of them, a number, and what draws of rows need."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dircal._core.stats.bins import Bins, BinTable
from dircal._core.stats.bootstrap import RowTerms
from dircal._typing import FloatArray, IntArray
from dircal.metrics._binning import FixedBinRule
from dircal.metrics._blocks import Block
from dircal.metrics._curves import CurvePoints, Curves
from dircal.metrics._predictions import Predictions
from dircal.metrics._rows import MeanOf, RowSum, TableOf

__all__ = [
    "AbstractFolded",
    "AbstractQuantity",
    "Called",
    "Entries",
    "GapSum",
    "RowMean",
    "Summed",
    "sum_cells",
    "values_of",
]

Entries: TypeAlias = list[tuple[npt.NDArray[Any], FloatArray | float]]
"""Cells (c, m) that rows belong to, and what they add there."""
_Sums = TypeVar("_Sums")


@dataclass(frozen=True, eq=False)
class Summed:
    """A measure as a function of sums over rows.

    Parameters
    ----------
    size : pair of int
        Number of dense sums, and of those in cells.
    terms : callable
        What each row of a block adds.
    read : callable
        From sums (..., c) to what the rule of the interval works on: the mean (..., 1) of what rows
        lose, the gaps (..., g) whose absolute values add up to the measure, or its value (..., 1).
    """

    size: tuple[int, int]
    terms: Callable[[Block], RowTerms]
    read: Callable[[FloatArray], FloatArray]


class AbstractQuantity(ABC):
    """A measure with its options, of rows that are given when it is asked."""

    @abstractmethod
    def value(self, predictions: Predictions) -> float:
        """The number."""

    def sums(self, predictions: Predictions) -> Summed | None:
        """The same as a function of sums; None where it has to be computed for every draw."""
        del predictions
        return None


class AbstractFolded(AbstractQuantity, Generic[_Sums]):
    """A measure that is a function of sums: it needs one pass, wherever the rows are."""

    @property
    @abstractmethod
    def of_block(self) -> Callable[[Block], _Sums]:
        """What it makes of a block; such results are added up by ``+=``."""

    @abstractmethod
    def finish(self, sums: _Sums) -> float:
        """The number, from the sums over all rows."""

    def value(self, predictions: Predictions) -> float:
        """In one pass."""
        return self.finish(predictions.fold_once(self.of_block))


def values_of(quantities: Sequence[AbstractQuantity], predictions: Predictions) -> list[float]:
    """Several measures of the same rows: one pass for all that are sums."""
    predictions.fold_all([one.of_block for one in quantities if isinstance(one, AbstractFolded)])
    return [one.value(predictions) for one in quantities]


@dataclass(frozen=True)
class Called(AbstractQuantity):
    """Whatever a function of the predictions gives: no sum that is known, so it needs the rows."""

    compute: Callable[[Predictions], float]

    def value(self, predictions: Predictions) -> float:
        """What it gives now."""
        return self.compute(predictions)


@dataclass(frozen=True)
class RowMean(AbstractFolded[RowSum]):
    """The mean of one number of each row, over a ``divisor``."""

    of_rows: Callable[[Block], npt.NDArray[Any]]
    divisor: int = 1

    @property
    def of_block(self) -> MeanOf[Block]:
        """A sum and the weight."""
        return MeanOf(self.of_rows)

    def finish(self, sums: RowSum) -> float:
        """Their ratio."""
        return sums.value / self.divisor

    def sums(self, predictions: Predictions) -> Summed:
        """One sum."""
        return Summed((1, 0), self._terms, _OverRows(predictions.n_samples))

    def _terms(self, block: Block) -> RowTerms:
        return RowTerms((self.of_rows(block) / self.divisor)[None])


@dataclass(frozen=True)
class _OverRows:
    """Sums over the number of rows."""

    n_samples: int

    def __call__(self, sums: FloatArray) -> FloatArray:
        return sums / self.n_samples


@dataclass(frozen=True)
class GapSum(AbstractFolded[BinTable]):
    """The expected calibration errors of some curves, added up, over a ``divisor``."""

    curves: Curves[Block]
    rule: FixedBinRule
    dtype: np.dtype[Any]
    divisor: int = 1

    @property
    def of_block(self) -> TableOf[Block]:
        """The table of the bins."""
        return TableOf(self.curves, self.rule, self.dtype)

    def finish(self, sums: BinTable) -> float:
        """Gaps of the bins."""
        return float(sums.calibration_errors.sum() / self.divisor)

    def sums(self, predictions: Predictions) -> Summed:
        """Gaps of bins: residuals of their rows, over the number of rows and the divisor.

        Most rows of a curve often fall into one bin, as the small probabilities of many classes do.
        What they add there is what all rows add less what falls elsewhere, and that is cheaper: the
        sum over all rows is a product of dense matrices.
        """
        table = predictions.fold_once(self.of_block)
        gaps = _Gaps(
            self.curves,
            table.bins,
            table.count.argmax(axis=1),
            1.0 / (predictions.n_samples * self.divisor),
        )
        n_curves, n_bins = table.count.shape
        return Summed((n_curves, n_curves * n_bins), gaps.terms, gaps.read)


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Residuals of rows: of all, and of those outside of the ``fullest`` bin of each curve (c,)."""

    curves: Curves[Block]
    bins: Bins
    fullest: IntArray
    scale: float

    def terms(self, block: Block) -> RowTerms:
        """What each row adds."""
        points = self.curves.points(block)
        index, residuals = self.bins.index(points.values), points.residuals
        used = index != self.fullest[:, None]
        return RowTerms(residuals, _scatter(used, index, residuals, index.shape, self.bins.n_bins))

    def read(self, sums: FloatArray) -> FloatArray:
        """The gap of each bin."""
        n_curves = len(self.fullest)
        gaps = sums[..., n_curves:].reshape(*sums.shape[:-1], n_curves, -1) * self.scale
        fullest = sums[..., :n_curves] * self.scale - gaps.sum(axis=-1)
        gaps[..., np.arange(n_curves), self.fullest] = fullest
        flat: FloatArray = gaps.reshape(*sums.shape[:-1], -1)
        return flat


def sum_cells(points: CurvePoints, width: int, entries: Entries) -> sparse.csr_array:
    """Sums ``curve * width + cell`` for each cell of each curve; cells below zero are left out."""
    shape = points.values.shape
    cells = np.vstack([cell for cell, _ in entries])
    added = np.vstack([np.broadcast_to(value, shape) for _, value in entries])
    return _scatter(cells >= 0, cells, added, shape, width)


def _scatter(
    used: npt.NDArray[np.bool_],
    cells: npt.NDArray[Any],
    added: FloatArray,
    shape: tuple[int, int],
    width: int,
) -> sparse.csr_array:
    """What is ``added`` (e * c, m) to ``cells`` that are ``used``, for a shape (c, m) of curves.

    Few are used of many, so places of these are looked up, row after row.
    """
    n_curves, n_points = shape
    row, line = np.divmod(np.flatnonzero(used.T), len(cells))
    place = line * n_points + row
    columns = cells.ravel().take(place) + line % n_curves * width
    ends = np.concatenate([[0], np.bincount(row, minlength=n_points).cumsum()])
    return sparse.csr_array(
        (added.ravel().take(place), columns, ends), shape=(n_points, n_curves * width)
    )
