"""How probabilities are put into bins."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from dircal._core.stats.bins import Bins, equal_mass, equal_width, paper_table
from dircal.metrics._curves import CurvePoints
from dircal.validation import check_integer, check_option

__all__ = [
    "BinRule",
    "Binning",
    "EqualMass",
    "EqualWidth",
    "PaperTable",
    "Strategy",
    "check_bins",
]

Strategy: TypeAlias = Literal["width", "mass"]
Binning: TypeAlias = Literal["right_closed", "paper_table"]
Points: TypeAlias = Callable[[], Iterator[CurvePoints]]


class BinRule(Protocol):
    """How bins are made of the points of curves."""

    def make(self, points: Points, dtype: np.dtype[Any]) -> Bins:
        """The bins for values that were given in this type."""


@dataclass(frozen=True)
class EqualWidth:
    """Bins of equal width, closed on the right."""

    n_bins: int

    def make(self, points: Points, dtype: np.dtype[Any]) -> Bins:
        """The same for all rows."""
        return equal_width(self.n_bins, dtype)


@dataclass(frozen=True)
class PaperTable:
    """The bins of the paper's tables."""

    n_bins: int

    def make(self, points: Points, dtype: np.dtype[Any]) -> Bins:
        """The same for all rows."""
        return paper_table(self.n_bins)


@dataclass(frozen=True)
class EqualMass:
    """Bins with equally many rows, as far as ties allow; each curve has its own."""

    n_bins: int

    def make(self, points: Points, dtype: np.dtype[Any]) -> Bins:
        """All rows are looked at."""
        parts = list(points())
        weights = [part.weight for part in parts if part.weight is not None]
        values = np.concatenate([part.values for part in parts], axis=1)
        return equal_mass(values, np.concatenate(weights) if weights else None, self.n_bins)


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
