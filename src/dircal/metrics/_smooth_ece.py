"""The calibration error without bins."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.smoothing import grid_cells, smooth_error, smoothed
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics._blocks import Block
from dircal.metrics._curves import CurvePoints, Curves, Over, check_over
from dircal.metrics._measure import IntervalRule, Measure, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import AbstractQuantity, Entries, Summed, sum_cells

__all__ = ["smooth_ece"]

# Points of the grid of residuals: closer together than the smallest bandwidth that matters.
_N_CELLS = 8192
# Points of the coarser grid of draws within a bandwidth, and the limits of their number.
_POINTS_A_BANDWIDTH = 8
_FEWEST, _MOST = 64, 4096


def smooth_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    over: Over = "confidence",
    label: Any = None,
) -> float:
    r"""Calibration error of smoothed residuals, which needs no bins; lower is better.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    y_prob : array-like (n, k)
        Probability of each class.
    sample_weight : array-like (n,), optional
        Weight of each row; a weight of two counts like two rows.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.
    over : {"confidence", "classes"}, default="confidence"
        The largest probability of each row, or the probability of each class, averaged over the
        classes.
    label : object, optional
        With ``over="classes"``, the one class to look at.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    With the probability :math:`p_i`, and :math:`o_i` one where it happened and zero elsewhere,

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Bigl| \frac1n \sum_i w_i (o_i - p_i)
              K_\sigma(p_i, t) \Bigr| \, dt

    where :math:`K_\sigma` is the Gaussian density of standard deviation :math:`\sigma` around
    :math:`p_i`, reflected at 0 and 1, :math:`w_i` are the weights and :math:`n` is their sum. The
    measure is the :math:`\sigma` for which :math:`\mathrm{smECE}_\sigma = \sigma`; there is
    exactly one [1]_. The integral runs over a grid of 8192 steps; values between two points are
    shared by both.

    *What it estimates.* A distance from calibration that small changes of the probabilities change
    little: it lies within constant factors of the smallest change that would make the predictions
    calibrated. No edge of a bin decides anything.

    *Bias.* Upwards, as that of `confidence_ece`: chance does not cancel completely. It is smaller
    than with 15 bins where the error is large, since then the bandwidth is.

    **When not to use it.** Where numbers have to be compared with published ECEs: it is another
    quantity, and smaller where errors change sign within a bandwidth. Where predictions take a few
    values only, bins at these values say more. It is no test of calibration.

    References
    ----------
    .. [1] Błasiok and Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel
       smoothing. ICLR.

    Examples
    --------
    >>> from dircal.metrics import smooth_ece
    >>> round(smooth_ece([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.1661
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, over, label).value()


def _quantity(predictions: Predictions, over: Over, label: Any) -> "_SmoothedGaps":
    return _SmoothedGaps(predictions, check_over(over, label, predictions.position))


@dataclass(frozen=True, eq=False)
class _SmoothedGaps(AbstractQuantity):
    """From smoothed residuals, on a grid."""

    predictions: Predictions
    curves: Curves[Block]

    def value(self) -> float:
        return float(np.mean(self.predictions.once(_bandwidths, self.curves)))

    def sums(self) -> Summed:
        """With the bandwidth of the rows as they are."""
        bandwidths = self.predictions.once(_bandwidths, self.curves)
        wanted = _POINTS_A_BANDWIDTH / max(min(bandwidths), 1e-9)
        n_cells = int(np.clip(np.ceil(wanted), _FEWEST, _MOST))

        def entries(part: CurvePoints) -> Entries:
            below, share = grid_cells(part.values, n_cells)
            residuals = part.residuals
            upper = residuals * share
            return [(below, residuals - upper), (below + 1, upper)]

        cells = sum_cells(self.predictions.points(self.curves), n_cells + 1, entries)
        divisor = cells.shape[0] * len(bandwidths)

        def read(sums: FloatArray) -> FloatArray:
            fields = np.split(sums / divisor, len(bandwidths), axis=-1)
            pairs = zip(fields, bandwidths, strict=True)
            return np.concatenate([smoothed(field, width) for field, width in pairs], axis=-1)

        return Summed(RowTerms(np.empty((0, cells.shape[0])), cells), read)


def _bandwidths(predictions: Predictions, curves: Curves[Block]) -> list[float]:
    """The error of each curve, which is its bandwidth."""
    return [smooth_error(grid) for grid in _residuals_on_grid(predictions.points(curves))]


def _residuals_on_grid(points: Iterator[CurvePoints]) -> FloatArray:
    """Mean residuals at the points of the grid, for each curve (c, m + 1)."""
    width = _N_CELLS + 1
    grid, total = np.zeros((1, width)), 0.0
    for part in points:
        n_curves, n_rows = part.values.shape
        residuals = part.residuals
        if part.weight is not None:
            residuals *= part.weight
        below, share = grid_cells(part.values, _N_CELLS)
        cells = below.astype(np.intp) + np.arange(n_curves)[:, None] * width
        upper = residuals * share
        size = n_curves * width
        sums = np.bincount(cells.ravel(), (residuals - upper).ravel(), minlength=size)
        sums += np.bincount(cells.ravel() + 1, upper.ravel(), minlength=size)
        grid = grid + sums.reshape(n_curves, -1)
        total += n_rows if part.weight is None else float(part.weight.sum())
    return grid / total


publish(
    Measure(
        smooth_ece,
        _quantity,
        title="Smooth ECE",
        judges="the confidence error without bins",
        interval=IntervalRule.ABSOLUTE_SUM,
        place=80,
    )
)
