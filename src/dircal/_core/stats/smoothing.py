"""Residuals along the probability, smoothed: what the smooth calibration error is computed from."""

import numpy as np
from scipy import fft, optimize

from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray

__all__ = ["grid_cells", "smooth_error", "smoothed"]


def grid_cells(values: FloatArray, n_cells: int) -> tuple[FloatArray, FloatArray]:
    """Grid point at or below each of the ``values`` in [0, 1], and the share of the next one.

    A value between two points is shared by them, which keeps its place exactly on average.
    """
    place = values * n_cells
    below = np.minimum(np.floor(place), n_cells - 1)
    return below, place - below


def smoothed(grid: FloatArray, bandwidth: float) -> FloatArray:
    r"""Sums (..., m + 1) at the points of a grid over [0, 1], smoothed by a Gaussian kernel.

    The kernel is reflected at both ends, which makes cosines its eigenfunctions: smoothing by
    :math:`\sigma` multiplies :math:`\cos(\pi j t)` by :math:`\exp(-(\pi j \sigma)^2 / 2)`. What
    comes back are again sums at the points; at the two ends, where half a cell belongs to the
    grid, they are halved, so that absolute values add up to the integral.
    """
    doubled = grid.copy()
    doubled[..., [0, -1]] *= 2.0
    waves = fft.dct(doubled, type=1, axis=-1)
    waves *= np.exp(-0.5 * (np.pi * bandwidth * np.arange(waves.shape[-1])) ** 2)
    result: FloatArray = fft.idct(waves, type=1, axis=-1)
    result[..., [0, -1]] *= 0.5
    return result


def smooth_error(grid: FloatArray) -> float:
    """The bandwidth that equals the error it gives, for residuals (m + 1,) summed on a grid.

    Smoothing more can only cancel more, so the error falls with the bandwidth and meets it once.
    """
    if not grid.any():
        return 0.0

    def excess(bandwidth: float) -> float:
        return float(np.abs(smoothed(grid, bandwidth)).sum()) - bandwidth

    # Without smoothing the error is at least that with it.
    highest = float(np.abs(grid).sum())
    # An error so small that rounding decides is met at once.
    if excess(highest) >= 0.0:
        return highest
    return float(optimize.brentq(excess, 0.0, highest, xtol=RESAMPLING_LIMITS.get().bandwidth_tol))
