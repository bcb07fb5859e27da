"""Curves of one number: lines between knots, and steps."""

from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray
from dircal.maps._columns import only
from dircal.maps._step import AbstractStep, freeze

__all__ = ["Interpolation", "Lookup"]


@dataclass(frozen=True, eq=False, repr=False)
class Interpolation(AbstractStep):
    """Lines between the points (``knots``, ``values``), constant beyond the first and the last."""

    knots: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        freeze(self, knots=self.knots, values=self.values)

    def apply(self, block: FloatArray) -> FloatArray:
        """Heights of the curve."""
        knots, values = self.knots, self.values
        if len(knots) == 1:
            return np.full_like(block, values[0])
        right = np.searchsorted(knots, block).clip(1, len(knots) - 1)
        left = right - 1
        low, high, start, end = knots[left], knots[right], values[left], values[right]
        # Shares of a gap rather than slopes: between subnormal numbers a slope overflows.
        share = (np.clip(block, low, high) - low) / (high - low)
        heights: FloatArray = np.minimum(start + share * (end - start), end)
        return heights

    def n_out(self, n_in: int) -> int:
        """One, from one."""
        knots, values = self.knots, self.values
        if knots.ndim != 1 or len(knots) == 0 or knots.shape != values.shape:
            raise ValueError("`knots` and `values` must be as many numbers, and at least one")
        if not (np.diff(knots) > 0).all() or not np.isfinite(knots).all():
            raise ValueError("`knots` must be increasing numbers")
        if not (np.diff(values) >= 0).all():
            raise ValueError("`values` must be numbers that never fall")
        _check_probabilities(values)
        return only(1, n_in)


@dataclass(frozen=True, eq=False, repr=False)
class Lookup(AbstractStep):
    """``values`` (m + 1,), chosen by how many of m sorted ``edges`` are at most the number."""

    edges: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        freeze(self, edges=self.edges, values=self.values)

    def apply(self, block: FloatArray) -> FloatArray:
        """Value of the bin; of equal edges the last counts."""
        found: FloatArray = self.values[np.searchsorted(self.edges, block, side="right")]
        return found

    def n_out(self, n_in: int) -> int:
        """One, from one."""
        edges = self.edges
        fine = edges.ndim == 1 and self.values.shape == (len(edges) + 1,)
        if not fine or np.isnan(edges).any() or (edges[1:] < edges[:-1]).any():
            raise ValueError("`edges` must be sorted numbers, one fewer than `values`")
        _check_probabilities(self.values)
        return only(1, n_in)


def _check_probabilities(values: FloatArray) -> None:
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError("`values` must lie between 0 and 1")
