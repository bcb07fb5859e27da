"""The calibration error without bins."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._core.data.chunks import AbstractSums
from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.smoothing import grid_cells, smooth_error, smoothed
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics._blocks import Block
from dircal.metrics._curves import Curves, Over, check_over
from dircal.metrics._limits import METRIC_LIMITS
from dircal.metrics._measure import IntervalRule, Measure, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import AbstractFolded, Entries, Summed, sum_cells

__all__ = ["smooth_ece"]

_FEWEST, _MOST = 64, 2048


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
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
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
    return _quantity(predictions, over, label).value(predictions)


def _quantity(predictions: Predictions, over: Over, label: Any) -> "_SmoothedGaps":
    return _SmoothedGaps(_ResidualGrid(check_over(over, label, predictions.position)))


@dataclass
class _GridSums(AbstractSums):
    """Residuals (c, m + 1) at the points of a grid, and the weight of the rows."""

    residuals: FloatArray
    weight: float

    @property
    def bandwidths(self) -> list[float]:
        """The error of each curve, which is its bandwidth."""
        return [smooth_error(grid) for grid in self.residuals / self.weight]


@dataclass(frozen=True)
class _ResidualGrid:
    """Residuals of some curves, shared by the two points of the grid that they lie between."""

    curves: Curves[Block]

    def __call__(self, block: Block) -> _GridSums:
        limits = METRIC_LIMITS.get()
        points, width = self.curves.points(block), limits.n_cells + 1
        n_curves, n_rows = points.values.shape
        residuals = points.residuals
        if points.weight is not None:
            residuals *= points.weight
        below, share = grid_cells(points.values, limits.n_cells)
        cells = below.astype(np.intp) + np.arange(n_curves)[:, None] * width
        upper, size = residuals * share, n_curves * width
        sums: FloatArray = np.zeros(size)
        sums += np.bincount(cells.ravel(), (residuals - upper).ravel(), minlength=size)
        sums += np.bincount(cells.ravel() + 1, upper.ravel(), minlength=size)
        weight = float(n_rows) if points.weight is None else float(points.weight.sum())
        return _GridSums(sums.reshape(n_curves, -1), weight)


@dataclass(frozen=True)
class _SmoothedGaps(AbstractFolded[_GridSums]):
    """From smoothed residuals, on a grid."""

    grid: _ResidualGrid

    @property
    def of_block(self) -> _ResidualGrid:
        return self.grid

    def finish(self, sums: _GridSums) -> float:
        return float(np.mean(sums.bandwidths))

    def sums(self, predictions: Predictions) -> Summed:
        """With the bandwidth of the rows as they are."""
        bandwidths = predictions.fold_once(self.grid).bandwidths
        wanted = METRIC_LIMITS.get().points_per_bandwidth / max(min(bandwidths), 1e-9)
        n_cells = int(np.clip(np.ceil(wanted), _FEWEST, _MOST))
        coarser = _CoarserGrid(self.grid.curves, tuple(bandwidths), n_cells, predictions.n_samples)
        n_sums = len(bandwidths) * (n_cells + 1)
        return Summed((0, n_sums), coarser.terms, coarser.read)


@dataclass(frozen=True)
class _CoarserGrid:
    """The grid of draws: smoothing hides what lies between its points."""

    curves: Curves[Block]
    bandwidths: tuple[float, ...]
    n_cells: int
    n_samples: int

    def terms(self, block: Block) -> RowTerms:
        """What each row adds."""
        points = self.curves.points(block)
        below, share = grid_cells(points.values, self.n_cells)
        residuals = points.residuals
        upper = residuals * share
        entries: Entries = [(below, residuals - upper), (below + 1, upper)]
        cells = sum_cells(points, self.n_cells + 1, entries)
        return RowTerms(np.empty((0, cells.shape[0])), cells)

    def read(self, sums: FloatArray) -> FloatArray:
        """Smoothed gaps."""
        n_curves = len(self.bandwidths)
        fields = np.split(sums / (self.n_samples * n_curves), n_curves, axis=-1)
        pairs = zip(fields, self.bandwidths, strict=True)
        return np.concatenate([smoothed(field, width) for field, width in pairs], axis=-1)


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
