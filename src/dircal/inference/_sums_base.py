"""Measures as functions of sums over rows, which is what makes drawing rows again cheap."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dircal import metrics
from dircal._core.data.losses import confidence_and_hits, log_losses, squared_errors
from dircal._core.stats.bins import debiased_squares
from dircal._core.stats.smoothing import grid_cells, smooth_error, smoothed
from dircal._typing import FloatArray, IntArray
from dircal.inference._draws_base import Draws, GapDraws, MeanDraws, OtherDraws
from dircal.metrics._base import Predictions
from dircal.metrics._bins_base import Curves, curves_over, make_bins
from dircal.metrics._grid_base import residuals_on_grid

__all__ = ["BUILDERS", "Summed"]

Settings: TypeAlias = dict[str, Any]
Entries: TypeAlias = list[tuple[npt.NDArray[Any], FloatArray | float]]
"""Cells (c, m) that rows belong to, and what they add there."""

# Points of the grid of smoothed residuals within a bandwidth, and the limits of their number.
_POINTS_A_BANDWIDTH = 8
_FEWEST, _MOST = 64, 4096


@dataclass(frozen=True, eq=False)
class Summed:
    """What rows add to a measure.

    Parameters
    ----------
    columns : sparse array (n, c)
        A row for each row.
    draws : callable
        Takes the sums over all rows (c,) and over the rows of each draw (B, c).
    """

    columns: sparse.csr_array
    draws: Callable[[FloatArray, FloatArray], Draws]


Builder: TypeAlias = Callable[[Predictions, Settings], Summed]


def _mean_of(losses: Callable[[FloatArray, IntArray], npt.NDArray[Any]]) -> Builder:
    """A measure that is the mean of what rows lose."""

    def build(predictions: Predictions, settings: Settings) -> Summed:
        lost = np.concatenate([losses(block.proba, block.labels) for block in predictions])
        values = lost.astype(np.float64)
        if settings.get("normalisation") == "classes":
            values /= predictions.n_classes
        n = len(values)
        return Summed(
            sparse.csr_array(values[:, None]), lambda _, sums: MeanDraws(sums[:, 0] / n, values)
        )

    return build


def _binned(over: str) -> Builder:
    """A measure that adds up the absolute gaps of bins."""

    def build(predictions: Predictions, settings: Settings) -> Summed:
        curves = curves_over(predictions, over, settings.get("label"))  # type: ignore[arg-type]
        bins = _bins_of(curves, predictions, settings)
        columns = _by_cell(
            curves(), bins.n_bins, lambda part: [(bins.index(part.values), part.residuals)]
        )
        n_curves = columns.shape[1] // bins.n_bins
        parts = columns.shape[0] * (1 if settings.get("aggregate") == "sum" else n_curves)
        return Summed(columns, lambda total, sums: GapDraws(total / parts, sums / parts))

    return build


def _smooth(predictions: Predictions, settings: Settings) -> Summed:
    """Smoothed residuals, with the bandwidth of the rows as they are."""
    curves = curves_over(predictions, settings["over"], settings["label"])
    bandwidths = [smooth_error(grid) for grid in residuals_on_grid(curves())]
    wanted = _POINTS_A_BANDWIDTH / max(min(bandwidths), 1e-9)
    n_cells = int(np.clip(np.ceil(wanted), _FEWEST, _MOST))

    def entries(part: Curves) -> Entries:
        below, share = grid_cells(part.values, n_cells)
        upper = part.residuals * share
        return [(below, part.residuals - upper), (below + 1, upper)]

    columns = _by_cell(curves(), n_cells + 1, entries)
    parts = columns.shape[0] * len(bandwidths)

    def gaps(sums: FloatArray) -> FloatArray:
        fields = np.split(sums / parts, len(bandwidths), axis=-1)
        pairs = zip(fields, bandwidths, strict=True)
        return np.concatenate([smoothed(field, width) for field, width in pairs], axis=-1)

    return Summed(columns, lambda total, sums: GapDraws(gaps(total), gaps(sums)))


def _debiased(predictions: Predictions, settings: Settings) -> Summed:
    """Weights, residuals and squared residuals of the bins."""
    curves = curves_over(predictions, settings["over"], settings["label"])
    bins = _bins_of(curves, predictions, settings)
    m = bins.n_bins

    def entries(part: Curves) -> Entries:
        index, residuals = bins.index(part.values), part.residuals
        return [(index, 1.0), (index + m, residuals), (index + 2 * m, residuals**2)]

    def values(sums: FloatArray) -> FloatArray:
        by_kind = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3, m), -2, 0)
        means: FloatArray = debiased_squares(*by_kind).mean(axis=-1)
        return means

    columns = _by_cell(curves(), 3 * m, entries)
    return Summed(columns, lambda total, sums: OtherDraws(values(sums), float(values(total))))


def _bins_of(
    curves: Callable[[], Iterator[Curves]], predictions: Predictions, settings: Settings
) -> Any:
    options = (settings["n_bins"], settings["strategy"], settings["binning"])
    return make_bins(curves, predictions.data.inputs.dtype, *options)


def _by_cell(
    curves: Iterator[Curves], width: int, entries: Callable[[Curves], Entries]
) -> sparse.csr_array:
    """Column ``curve * width + cell`` for each cell of each curve."""
    indices, data, n_curves = [], [], 1
    for part in curves:
        n_curves = len(part.values)
        first = np.arange(n_curves)[:, None] * width
        for_part = entries(part)
        indices.append(np.vstack([cell + first for cell, _ in for_part]).T.astype(np.int32))
        added = [np.broadcast_to(value, part.values.shape) for _, value in for_part]
        data.append(np.vstack(added).T)
    columns, values = np.concatenate(indices), np.concatenate(data)
    ends = np.arange(0, columns.size + 1, columns.shape[1])
    shape = (len(columns), n_curves * width)
    return sparse.csr_array((values.ravel(), columns.ravel(), ends), shape=shape)


def _hits(proba: FloatArray, labels: IntArray) -> npt.NDArray[np.bool_]:
    return confidence_and_hits(proba, labels)[1]


def _misses(proba: FloatArray, labels: IntArray) -> npt.NDArray[np.bool_]:
    return ~_hits(proba, labels)


BUILDERS: dict[Callable[..., Any], Builder] = {
    metrics.accuracy: _mean_of(_hits),
    metrics.error_rate: _mean_of(_misses),
    metrics.log_loss: _mean_of(log_losses),
    metrics.brier_score: _mean_of(squared_errors),
    metrics.confidence_ece: _binned("confidence"),
    metrics.class_ece: _binned("classes"),
    metrics.classwise_ece: _binned("classes"),
    metrics.smooth_ece: _smooth,
    metrics.debiased_squared_error: _debiased,
}
"""How each measure is summed; others are called again for every draw."""
