"""Bins of probabilities, and the table of what fell into them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = [
    "BinTable",
    "Bins",
    "debiased_squares",
    "equal_mass",
    "equal_width",
    "paper_table",
    "tabulate",
]


@dataclass(frozen=True, eq=False)
class Bins:
    """Where each bin begins and ends.

    Parameters
    ----------
    edges : array (1, m + 1) or (c, m + 1)
        Ends of the m bins: common to all curves, or of each of c curves.
    closed : {"right", "left"}
        The end that belongs to a bin.
    n_equal : int or None
        Number of bins of equal width between 0 and 1, where they are; finds them by multiplying.
    dtype : numpy floating type
        Type of the values as they were given: an edge is compared in the precision of what it
        cuts, so that 0.4 lies on the edge 0.4 in single precision too.
    """

    edges: FloatArray
    closed: str
    n_equal: int | None = None
    dtype: type[np.floating[Any]] = np.float64

    @property
    def n_bins(self) -> int:
        """Number of bins m."""
        return int(self.edges.shape[1]) - 1

    def index(self, values: FloatArray) -> npt.NDArray[np.intp]:
        """Bin of each of the ``values`` (c, m)."""
        if (
            self.n_equal is not None
            and self.n_equal * self._doubt < RESAMPLING_LIMITS.get().max_bin_error
        ):
            return self._by_product(values, self.n_equal)
        curves = np.broadcast_to(self.edges, (len(values), self.edges.shape[1]))
        return np.stack([self._by_search(*pair) for pair in zip(values, curves, strict=True)])

    def _by_product(self, values: FloatArray, n_equal: int) -> npt.NDArray[np.intp]:
        """Multiply, then compare with the one edge that rounding leaves in doubt.

        The factor errs to the side of the bin that does not own its edge, by more than the
        product is rounded and by less than a bin: the comparison can only move on by one.
        """
        edges = np.append(self._compared(self.edges[0]), np.inf)
        if self.closed == "right":
            index = np.ceil(values * (n_equal * (1.0 - self._doubt))).astype(np.intp)
            # Clipped: values a hair above one lie beyond the last edge where there are many.
            index += values > edges.take(index, mode="clip")
            index -= 1
        else:
            index = (values * (n_equal * (1.0 + self._doubt))).astype(np.intp)
            index -= values < edges.take(index, mode="clip")
        return np.clip(index, 0, self.n_bins - 1, out=index)

    @property
    def _doubt(self) -> float:
        """By how much, of itself, a factor has to err to be on the safe side of rounding."""
        return 4.0 * float(np.finfo(self.dtype).eps)

    def _by_search(self, values: FloatArray, edges: FloatArray) -> npt.NDArray[np.intp]:
        inner = self._compared(edges[1:-1])
        if self.closed == "right":
            return np.searchsorted(inner, values, side="left")
        return np.searchsorted(inner, values, side="right")

    def _compared(self, edges: FloatArray) -> FloatArray:
        return edges.astype(self.dtype).astype(np.float64)


def equal_width(n_bins: int, dtype: np.dtype[Any]) -> Bins:
    """Bins (0, 1/m], (1/m, 2/m], ..., the first with 0, for values of a type."""
    edges = np.arange(n_bins + 1) / n_bins
    short = dtype.type if dtype in (np.float32, np.float16) else np.float64
    return Bins(edges[None], "right", n_bins, short)


def paper_table(n_bins: int) -> Bins:
    """The bins of the paper's tables: m - 1 of equal width, [a, b), and one that holds only 1."""
    edges = np.append(np.linspace(0.0, 1.0, n_bins), 1.0)
    return Bins(edges[None], "left", n_bins - 1 if n_bins > 1 else None)


def equal_mass(values: FloatArray, weight: FloatArray | None, n_bins: int) -> Bins:
    """Bins (a, b] that share the weight of the ``values`` (c, m) evenly, as far as ties allow.

    An edge is the smallest value with at least so much weight at or below it, so that a weight of
    two counts like two rows.
    """
    total = values.shape[1] if weight is None else weight.sum()
    # Sums of weights are rounded; a share that is met up to rounding is met.
    wanted = np.arange(1, n_bins) / n_bins * total * (1.0 - 1e-12)
    edges = np.empty((len(values), n_bins + 1))
    edges[:, 0], edges[:, -1] = 0.0, 1.0
    for curve, row in zip(edges, values, strict=True):
        order = row.argsort()
        below = np.arange(1, len(row) + 1) if weight is None else weight[order].cumsum()
        curve[1:-1] = row[order[np.searchsorted(below, wanted).clip(max=len(row) - 1)]]
    return Bins(edges, "right")


@dataclass(frozen=True, eq=False)
class BinTable:
    """What fell into each bin, for one curve or for several.

    Two tables of the same bins add up to the table of both sets of rows.

    Parameters
    ----------
    bins : Bins
        The bins.
    count : array (c, m)
        Weight of the rows in each bin, of each of c curves.
    predicted : array (c, m)
        Sum of their probabilities.
    observed : array (c, m)
        Weight of the rows in which it happened.
    """

    bins: Bins
    count: FloatArray
    predicted: FloatArray
    observed: FloatArray

    @property
    def edges(self) -> FloatArray:
        """Ends of the bins, (1, m + 1) or (c, m + 1)."""
        return self.bins.edges

    @property
    def mean_predicted(self) -> FloatArray:
        """Mean probability in each bin (c, m); NaN where it is empty."""
        return self._per_row(self.predicted)

    @property
    def frequency(self) -> FloatArray:
        """How often it happened in each bin (c, m); NaN where it is empty."""
        return self._per_row(self.observed)

    @property
    def calibration_errors(self) -> FloatArray:
        """Mean over the rows of ``|frequency - mean_predicted|`` of their bin, by curve (c,)."""
        gaps = np.abs(self.observed - self.predicted)
        errors: FloatArray = gaps.sum(axis=1) / self.count.sum(axis=1)
        return errors

    @property
    def largest_gap(self) -> float:
        """Greatest ``|frequency - mean_predicted|`` of a bin that is not empty."""
        used = self.count > 0
        gaps = np.abs(self.observed - self.predicted)[used] / self.count[used]
        return float(gaps.max())

    def __add__(self, other: object) -> "BinTable":
        if not isinstance(other, BinTable):
            return NotImplemented
        same = self.bins.closed == other.bins.closed and self.count.shape == other.count.shape
        if not (same and np.array_equal(self.edges, other.edges)):
            raise ValueError(
                "Tables add up only if they have the same bins and the same curves; these have "
                f"{self._describe()} and {other._describe()}. Bins of equal width are the same "
                "for every set of rows, bins of equal mass are not."
            )
        return replace(
            self,
            count=self.count + other.count,
            predicted=self.predicted + other.predicted,
            observed=self.observed + other.observed,
        )

    def __radd__(self, other: object) -> "BinTable":
        # So that sum() works, which begins with 0.
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return f"<BinTable: {self._describe()}, weight {self.count[0].sum():g}>"

    def _describe(self) -> str:
        curves, bins = self.count.shape
        kind = "own" if len(self.edges) > 1 else "common"
        return f"{curves} curve(s) of {bins} {self.bins.closed}-closed {kind} bins"

    def _per_row(self, sums: FloatArray) -> FloatArray:
        return np.divide(sums, self.count, out=np.full_like(sums, np.nan), where=self.count > 0)


def tabulate(
    bins: Bins,
    values: FloatArray,
    outcomes: tuple[IntArray, IntArray],
    weight: FloatArray | None,
    shares: FloatArray | None = None,
) -> BinTable:
    """Table of ``values`` (c, m), of which those at the indices ``outcomes`` happened.

    ``shares`` are how probably they did; None stands for one.
    """
    limits = RESAMPLING_LIMITS.get()
    n_curves, n_rows = values.shape
    shape, size = (limits.lanes, n_curves, bins.n_bins), n_curves * bins.n_bins
    index = bins.index(values)
    index += np.arange(0, size, bins.n_bins)[:, None]
    index += np.arange(n_rows) % limits.lanes * size
    cells = index.ravel()
    weights = None if weight is None else np.broadcast_to(weight, values.shape).ravel()
    summed = values if weight is None else values * weight
    weights_of_outcomes = None if weight is None else weight[outcomes[1]]
    if shares is not None:
        weights_of_outcomes = shares if weight is None else shares * weight[outcomes[1]]
    sums = (
        np.bincount(cells, weights, minlength=limits.lanes * size),
        np.bincount(cells, summed.ravel(), minlength=limits.lanes * size),
        np.bincount(index[outcomes], weights_of_outcomes, minlength=limits.lanes * size),
    )
    return BinTable(bins, *(one.reshape(shape).sum(axis=0, dtype=np.float64) for one in sums))


def debiased_squares(count: FloatArray, residual: FloatArray, square: FloatArray) -> FloatArray:
    """Squared calibration errors (...) less what chance adds, from sums (..., m) over bins.

    The sums are those of the weights, of the residuals and of their squares. A bin with no more
    than one row counts as zero: its chance cannot be told.
    """
    pairs = residual**2 - square
    spread = np.where(count > 1.0 + 1e-9, count - 1.0, np.inf)
    errors: FloatArray = (pairs / spread).sum(axis=-1) / count.sum(axis=-1)
    return errors
