"""How probabilities are put into bins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from dircal._core.stats.bins import Bins, equal_mass, equal_width, paper_table
from dircal.metrics._curves import CurvePoints
from dircal.tables import check_integer, check_option

__all__ = [
    "BinRule",
    "Binning",
    "EqualMass",
    "EqualWidth",
    "FixedBinRule",
    "GivenBins",
    "PaperTable",
    "Strategy",
    "check_bins",
]

Strategy: TypeAlias = Literal["width", "mass"]
Binning: TypeAlias = Literal["right_closed", "paper_table"]


class FixedBinRule(Protocol):
    """Bins that are known before any row is read."""

    def __hash__(self) -> int:
        """Two that are equal mean the same bins."""

    def make(self, dtype: np.dtype[Any]) -> Bins:
        """The bins for values that were given in this type."""


@dataclass(frozen=True)
class EqualWidth:
    """Bins of equal width, closed on the right."""

    n_bins: int

    def make(self, dtype: np.dtype[Any]) -> Bins:
        """The same for all rows."""
        return equal_width(self.n_bins, dtype)


@dataclass(frozen=True)
class PaperTable:
    """The bins of the paper's tables."""

    n_bins: int

    def make(self, dtype: np.dtype[Any]) -> Bins:
        """The same for all rows."""
        del dtype
        return paper_table(self.n_bins)


@dataclass(frozen=True)
class GivenBins:
    """Bins that the rows decided; equal only to themselves."""

    bins: Bins

    def make(self, dtype: np.dtype[Any]) -> Bins:
        """These."""
        del dtype
        return self.bins


@dataclass(frozen=True)
class EqualMass:
    """Bins with equally many rows, as far as ties allow; each curve has its own.

    Shares of the rows are no sums over them: all have to be looked at once.
    """

    n_bins: int

    def of_points(self, points: Sequence[CurvePoints]) -> GivenBins:
        """The bins of all points."""
        weights = [part.weight for part in points if part.weight is not None]
        values = np.concatenate([part.values for part in points], axis=1)
        weight = np.concatenate(weights) if weights else None
        return GivenBins(equal_mass(values, weight, self.n_bins))


BinRule: TypeAlias = FixedBinRule | EqualMass
"""How bins are made: once for all, or from the rows."""


def check_bins(n_bins: int, strategy: Strategy, binning: Binning) -> BinRule:
    """The rule that the options of a measure ask for."""
    check_integer("n_bins", n_bins, at_least=1)
    check_option("strategy", strategy, ("width", "mass"))
    check_option("binning", binning, ("right_closed", "paper_table"))
    if strategy == "width":
        return EqualWidth(n_bins) if binning == "right_closed" else PaperTable(n_bins)
    if binning == "paper_table":
        raise ValueError(
            "`binning` is 'paper_table', which are bins of equal width, but `strategy` is 'mass'. "
            "Pass `binning='right_closed'` for bins of equal mass."
        )
    return EqualMass(n_bins)
