"""Residuals on a fine grid of probabilities, for measures without bins."""

from collections.abc import Iterator

import numpy as np

from dircal._core.stats.smoothing import grid_cells
from dircal._typing import FloatArray
from dircal.metrics._curves import CurvePoints

__all__ = ["residuals_on_grid"]

# Points of the grid: closer together than the smallest bandwidth that matters.
_N_CELLS = 8192


def residuals_on_grid(points: Iterator[CurvePoints]) -> FloatArray:
    """Mean residuals at the points of the grid, for each curve (c, m + 1)."""
    grid, total = np.zeros((1, _N_CELLS + 1)), 0.0
    for part in points:
        n_curves, n_rows = part.values.shape
        residuals = part.residuals
        if part.weight is not None:
            residuals *= part.weight
        below, share = grid_cells(part.values, _N_CELLS)
        cells = below.astype(np.intp) + np.arange(n_curves)[:, None] * (_N_CELLS + 1)
        size = n_curves * (_N_CELLS + 1)
        upper = residuals * share
        sums = np.bincount(cells.ravel(), (residuals - upper).ravel(), minlength=size)
        sums += np.bincount(cells.ravel() + 1, upper.ravel(), minlength=size)
        grid = grid + sums.reshape(n_curves, -1)
        total += n_rows if part.weight is None else float(part.weight.sum())
    return grid / total
