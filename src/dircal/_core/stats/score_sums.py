"""Weights of events by score in bounded memory: what curves of one score are fitted to.

Rows with the same score are one cell. Where there are more distinct scores than cells allowed,
those that agree in their leading binary digits share one. Both ends of the probabilities are
resolved alike: above one half the digits are those of 1 - p. Grids are nested, so the cells that
come out are those of all rows at once, whatever chunks the rows came in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from dircal._core.data.chunks import AbstractChunkSource, Chunk
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray, InputScale

__all__ = ["ScoreCells", "isotonic_curve", "sum_by_bin", "sum_by_score"]

_HALF = int(np.float64(0.5).view(np.int64))


@dataclass(frozen=True)
class ScoreCells:
    """Lowest and highest score of each cell (m,), in order, its weight, and that of the events.

    Scores of a cell agree in all but the last ``n_dropped`` binary digits.
    """

    low: FloatArray
    high: FloatArray
    weight: FloatArray
    events: FloatArray
    n_dropped: int


def sum_by_score(
    source: AbstractChunkSource,
    scale: InputScale,
    max_cells: int | None = None,
) -> ScoreCells:
    """Weights by the only score of each row; an event is a row of class 1."""
    total = source.total_weight
    max_cells = max_cells or RESAMPLING_LIMITS.get().max_score_cells
    return source.fold(partial(_sums_of_chunk, scale, max_cells, total)).cells()


def sum_by_bin(source: AbstractChunkSource, inner_edges: FloatArray) -> FloatArray:
    """Weights (2, n_bins) of all rows and of events in bins that hold their left edges."""
    return source.fold(partial(_bins_of_chunk, inner_edges, source.total_weight))


def isotonic_curve(cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
    """Knots and values of the curve that never falls, by least squares, flat within each cell."""
    share = cells.events / cells.weight
    values = isotonic_regression(share, weights=cells.weight).x.clip(0.0, 1.0)
    ends = np.column_stack([cells.low, cells.high]).ravel()
    heights = np.repeat(values, 2)
    # A cell of one score has one end.
    kept = np.r_[True, ends[1:] > ends[:-1]]
    return ends[kept], heights[kept]


@dataclass
class _Sums:
    """Cells and rows that wait to be sorted into them; the sum of two is that of all."""

    key: Callable[[FloatArray], npt.NDArray[np.int64]]
    max_cells: int
    parts: list[ScoreCells]

    def __iadd__(self, other: Self) -> Self:
        self.parts += other.parts
        # The first part may be as large as it gets; the others are as many rows as that again.
        if sum(len(part.low) for part in self.parts) > 2 * self.max_cells:
            self.parts = [self.cells()]
        return self

    def cells(self) -> ScoreCells:
        """All parts as one, with as many digits as there is room for."""
        parts, n_dropped = self.parts, max(part.n_dropped for part in self.parts)
        low = np.concatenate([part.low for part in parts])
        order = np.argsort(low, kind="stable")
        high = np.concatenate([part.high for part in parts])[order]
        weight = np.concatenate([part.weight for part in parts])[order]
        events = np.concatenate([part.events for part in parts])[order]
        low = low[order]
        keys = self.key(low)
        while True:
            cut = keys >> n_dropped
            starts = np.flatnonzero(np.r_[True, cut[1:] != cut[:-1]])
            if len(starts) <= self.max_cells:
                break
            n_dropped += 1
        return ScoreCells(
            low[starts],
            np.maximum.reduceat(high, starts),
            np.add.reduceat(weight, starts),
            np.add.reduceat(events, starts),
            n_dropped,
        )


def _sums_of_chunk(scale: InputScale, max_cells: int, total: float, chunk: Chunk) -> _Sums:
    # Minus zero is zero.
    scores, weight = chunk.scores[0] + 0.0, _weights(chunk, total)
    rows = ScoreCells(scores, scores, weight, weight * _events(chunk), 0)
    return _Sums(_digits if scale == "logit" else _digits_of_proba, max_cells, [rows])


def _bins_of_chunk(inner_edges: FloatArray, total: float, chunk: Chunk) -> FloatArray:
    # Of equal edges the last counts, as in the map.
    bins = np.searchsorted(inner_edges, chunk.scores[0], side="right")
    weight, n_bins = _weights(chunk, total), len(inner_edges) + 1
    events = weight * _events(chunk)
    return np.stack([np.bincount(bins, each, minlength=n_bins) for each in (weight, events)])


def _events(chunk: Chunk) -> npt.NDArray[Any]:
    """Probability that each row is an event: 0 or 1 unless labels are soft."""
    return chunk.labels > 0 if chunk.targets is None else chunk.targets[1]


def _weights(chunk: Chunk, total: float) -> FloatArray:
    """Weights as they were given; whole numbers are again such to the last digit."""
    weight = chunk.weight * total
    whole = np.rint(weight)
    close = np.abs(weight - whole) <= 4.0 * np.finfo(np.float64).eps * weight
    return np.where(close, whole, weight)


def _digits(scores: FloatArray) -> npt.NDArray[np.int64]:
    """Whole numbers in the order of the scores, whose last digits are theirs."""
    bits = scores.view(np.int64)
    return np.where(bits >= 0, bits, np.int64(np.iinfo(np.int64).min) - bits)


def _digits_of_proba(proba: FloatArray) -> npt.NDArray[np.int64]:
    """The same around one half, with the digits of 1 - p above it."""
    below = _digits(proba) - _HALF
    rest = 1.0 - proba
    # Rounding may have carried p above one.
    above = _HALF - np.where(rest >= 0.0, _digits(np.abs(rest)), -_digits(np.abs(rest)))
    return np.where(proba <= 0.5, below, above)
