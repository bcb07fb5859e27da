"""What a measure is of given rows: its value, and the sums that make drawing rows again cheap."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dircal._core.stats.bootstrap import RowTerms
from dircal._typing import FloatArray, IntArray
from dircal.metrics._binning import BinRule
from dircal.metrics._blocks import Block
from dircal.metrics._curves import CurvePoints, Curves
from dircal.metrics._predictions import Predictions

__all__ = [
    "AbstractQuantity",
    "Called",
    "Entries",
    "GapSum",
    "RowMean",
    "Summed",
    "sum_cells",
]

Entries: TypeAlias = list[tuple[npt.NDArray[Any], FloatArray | float]]
"""Cells (c, m) that rows belong to, and what they add there."""


@dataclass(frozen=True, eq=False)
class Summed:
    """A measure as a function of sums over rows.

    Parameters
    ----------
    terms : RowTerms
        What each row adds.
    read : callable
        From sums (..., c) to what the rule of the interval works on: the mean (..., 1) of what rows
        lose, the gaps (..., g) whose absolute values add up to the measure, or its value (..., 1).
    """

    terms: RowTerms
    read: Callable[[FloatArray], FloatArray]


class AbstractQuantity(ABC):
    """A measure of given rows, with its options."""

    @abstractmethod
    def value(self) -> float:
        """The number."""

    def sums(self) -> Summed | None:
        """The same as a function of sums; None where it has to be computed for every draw."""
        return None


@dataclass(frozen=True, eq=False)
class Called(AbstractQuantity):
    """Whatever a function gives."""

    compute: Callable[[], float]

    def value(self) -> float:
        """What it gives now."""
        return self.compute()


@dataclass(frozen=True, eq=False)
class RowMean(AbstractQuantity):
    """The mean of one number of each row, over a ``divisor``."""

    predictions: Predictions
    of_rows: Callable[[Block], npt.NDArray[Any]]
    divisor: int = 1

    def value(self) -> float:
        """A block at a time."""
        return self.predictions.mean(self.of_rows) / self.divisor

    def sums(self) -> Summed:
        """One sum."""
        values = self.predictions.row_values(lambda block: self.of_rows(block) / self.divisor)
        return Summed(RowTerms(values[None]), lambda sums: sums / len(values))


@dataclass(frozen=True, eq=False)
class GapSum(AbstractQuantity):
    """The expected calibration errors of some curves, added up, over a ``divisor``."""

    predictions: Predictions
    curves: Curves[Block]
    rule: BinRule
    divisor: int = 1

    def value(self) -> float:
        """From the table of the bins."""
        table = self.predictions.table(self.curves, self.rule)
        return float(table.calibration_errors.sum() / self.divisor)

    def sums(self) -> Summed:
        """Gaps of bins: residuals of their rows, over the number of rows and the divisor.

        Most rows of a curve often fall into one bin, as the small probabilities of many classes do.
        What they add there is what all rows add less what falls elsewhere, and that is cheaper: the
        sum over all rows is a product of dense matrices.
        """
        table = self.predictions.table(self.curves, self.rule)
        bins, n_curves = table.bins, len(table.count)
        fullest = table.count.argmax(axis=1)
        parts = list(self.predictions.points(self.curves))
        dense = np.concatenate([part.residuals for part in parts], axis=1)

        def entries(part: CurvePoints) -> Entries:
            index = bins.index(part.values)
            return [(np.where(index == fullest[:, None], -1, index), part.residuals)]

        cells = sum_cells(iter(parts), bins.n_bins, entries)
        scale = 1.0 / (dense.shape[1] * self.divisor)
        every = np.arange(n_curves)

        def read(sums: FloatArray) -> FloatArray:
            gaps = sums[..., n_curves:].reshape(*sums.shape[:-1], n_curves, bins.n_bins) * scale
            gaps[..., every, fullest] = sums[..., :n_curves] * scale - gaps.sum(axis=-1)
            flat: FloatArray = gaps.reshape(*sums.shape[:-1], -1)
            return flat

        return Summed(RowTerms(dense, cells), read)


def sum_cells(
    points: Iterator[CurvePoints], width: int, entries: Callable[[CurvePoints], Entries]
) -> sparse.csr_array:
    """Sums ``curve * width + cell`` for each cell of each curve; cells below zero are left out."""
    columns: list[IntArray] = []
    values, counts, n_curves = [], [], 1
    for part in points:
        n_curves = len(part.values)
        first = np.arange(n_curves)[:, None] * width
        for_part = entries(part)
        kept = np.vstack([cell >= 0 for cell, _ in for_part]).T
        counts.append(kept.sum(axis=1))
        columns.append(np.vstack([cell + first for cell, _ in for_part]).T[kept].astype(np.int32))
        added = [np.broadcast_to(value, part.values.shape) for _, value in for_part]
        values.append(np.vstack(added).T[kept])
    ends = np.concatenate([[0], np.concatenate(counts).cumsum()])
    shape = (len(ends) - 1, n_curves * width)
    return sparse.csr_array((np.concatenate(values), np.concatenate(columns), ends), shape=shape)
