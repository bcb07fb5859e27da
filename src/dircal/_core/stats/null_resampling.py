"""Calibration errors of labels that are drawn from the predictions themselves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import AbstractSums
from dircal._core.stats.bins import Bins
from dircal._core.stats.chances import BinChance
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.row_blocks import RowBlock, RowBlocks, ignore, uniform_of
from dircal._typing import FloatArray, IntArray

__all__ = [
    "CellSums",
    "LabelDraws",
    "NullCells",
    "draws_in_passes",
    "null_classwise_ece",
    "null_confidence_ece",
]


def null_confidence_ece(
    chances: Sequence[BinChance], n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Calibration errors (n_resamples,) of one curve if every prediction is true.

    Only the number of events in a bin matters, so that number is drawn, from its own
    distribution; the rows are not.
    """
    errors = np.zeros(n_resamples)
    for chance in chances:
        errors += np.abs(chance.counts.draw(n_resamples, rng) - chance.expected)
    return errors / sum(chance.n_rows for chance in chances)


@dataclass(frozen=True, eq=False)
class LabelDraws:
    """What is needed to draw a label for every row, again and again.

    Parameters
    ----------
    stays : array (n,)
        Probability of the most probable class. Most rows keep it; only departures cost work.
        Infinite where no other class is possible: rounding may leave such a row short of one.
    leaves_to : array (n * others,)
        For each row the running sum of the probabilities of the other classes, the likely ones
        first, up to the last possible one, from which on it is infinite.
    scale : array (n,)
        Number of others over the last sum: cuts the sums of a row into slots of equal size.
    first : array (n * others,)
        For each row and slot, how many sums end before it: where to begin to look.
    cells : array (n * others,)
        For each row and other class the cell ``class * n_bins + bin`` of its probability.
    top_cells : array (n,)
        The cell of the most probable class.
    excess : array (k * n_bins,)
        Rows that happen in each cell if every row keeps its most probable class, less the sum of
        the probabilities in the cell.
    """

    stays: FloatArray
    leaves_to: FloatArray
    scale: FloatArray
    first: IntArray
    cells: IntArray
    top_cells: IntArray
    excess: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.stays)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.cells) // len(self.stays) + 1

    @classmethod
    def prepare(cls, proba: FloatArray, bins: Bins) -> "LabelDraws":
        """From probabilities (k, n)."""
        limits = RESAMPLING_LIMITS.get()
        k, n = proba.shape
        n_cells, others = k * bins.n_bins, k - 1
        index = bins.index(proba) + np.arange(0, n_cells, bins.n_bins)[:, None]
        sums = np.bincount(index.ravel(), proba.ravel(), minlength=n_cells)
        order = np.argsort(-proba.T, axis=1, kind="stable")
        cells = np.take_along_axis(index.T, order, axis=1)
        top_cells, stays = cells[:, 0].copy(), proba.max(axis=0)
        ends = np.take_along_axis(proba.T, order[:, 1:], axis=1).cumsum(axis=1)
        stays[ends[:, -1] < limits.min_leaving] = np.inf
        scale = others / np.maximum(ends[:, -1], limits.min_leaving)
        # A sum and a draw are put into slots by the same product, so none is put too late.
        slots = (ends * scale[:, None]).astype(np.intp).clip(max=others)
        slots += np.arange(0, n * k, k)[:, None]
        filled = np.bincount(slots.ravel(), minlength=n * k).reshape(n, k)
        first = (filled.cumsum(axis=1) - filled)[:, :others]
        # Rounding may leave a draw above the last sum: it belongs to the last class that can be.
        ends[ends == ends[:, -1:]] = np.inf
        kept = np.bincount(top_cells, minlength=n_cells)
        return cls(
            stays,
            ends.ravel(),
            scale,
            first.astype(np.min_scalar_type(k)).ravel(),
            cells[:, 1:].astype(np.min_scalar_type(n_cells)).ravel(),
            top_cells.astype(np.min_scalar_type(n_cells)),
            kept.astype(np.float64) - sums.astype(np.float64),
        )

    def departures(self, uniform: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """Draws and rows that leave their most probable class, and the cells that they go to.

        The uniform numbers are (draws, n).
        """
        n, others = self.n_rows, self.n_classes - 1
        departs = np.flatnonzero(uniform >= self.stays)
        if len(uniform) == 1:
            draw, row = np.zeros_like(departs), departs
        else:
            draw, row = np.divmod(departs, n)
        beyond = uniform.take(departs)
        beyond -= self.stays.take(row)
        # The least of both before the cast: beyond a tiny sum the product exceeds all integers.
        slot = np.minimum(beyond * self.scale.take(row), others - 1).astype(np.intp)
        place = row * others
        slot += place
        place += self.first.take(slot)
        late = np.flatnonzero(self.leaves_to.take(place) <= beyond)
        while len(late):
            place[late] += 1
            late = late[self.leaves_to.take(place.take(late)) <= beyond.take(late)]
        return draw, row, self.cells.take(place)

    def moves(self, uniform: FloatArray) -> IntArray:
        """Rows that come to each cell less those that leave it, for uniform numbers (draws, n)."""
        n_draws, n_cells = len(uniform), len(self.excess)
        draw, row, arrivals = self.departures(uniform)
        leavings = self.top_cells.take(row)
        if n_draws > 1:
            draw *= n_cells
            arrivals, leavings = draw + arrivals, draw + leavings
        size = n_draws * n_cells
        moved = np.bincount(arrivals, minlength=size) - np.bincount(leavings, minlength=size)
        return moved.reshape(n_draws, n_cells)


@dataclass
class CellSums(AbstractSums):
    """Rows that come to each cell (p, B, c) of p predictions, less those that leave it, in draws.

    ``excess`` (p, c) is what the cells would have if no row left its most probable class, less what
    is expected in them.
    """

    moved: npt.NDArray[np.int32]
    excess: FloatArray


@dataclass(frozen=True, eq=False)
class NullCells:
    """Cells of labels that are drawn from several predictions of the same rows.

    All predictions share their uniform numbers. ``draws`` is a range of whole groups of draws, and
    ``advance`` is told how many labels are drawn.
    """

    several: tuple[Bins, ...]
    blocks: RowBlocks
    draws: range
    advance: Callable[[int], None] = ignore

    def __call__(self, several: Sequence[FloatArray], start: int | None) -> CellSums:
        """Of probabilities (k, m) of each predictions, for rows from ``start`` on."""
        k, m = several[0].shape
        n_cells = k * self.several[0].n_bins
        shape = (len(several), len(self.draws), n_cells)
        sums = CellSums(np.zeros(shape, np.int32), np.zeros((len(several), n_cells)))
        for block in self.blocks.cut(start, m):
            prepared = [
                LabelDraws.prepare(proba[:, block.place], bins)
                for proba, bins in zip(several, self.several, strict=True)
            ]
            sums.excess += [one.excess for one in prepared]
            self._draw(block, prepared, sums.moved)
        return sums

    def _draw(
        self, block: RowBlock, prepared: Sequence[LabelDraws], moved: npt.NDArray[np.int32]
    ) -> None:
        limits = RESAMPLING_LIMITS.get()
        step = max(1, min(limits.null_rows // block.size, limits.null_cells // moved.shape[2]))
        for group in range(self.draws.start, self.draws.stop, limits.draws_per_group):
            rng = self.blocks.generator(block.number, group // limits.draws_per_group)
            stop = min(group + limits.draws_per_group, self.draws.stop)
            for first in range(group, stop, step):
                n_draws = min(step, stop - first)
                uniform = uniform_of(rng, n_draws, block)
                place = slice(first - self.draws.start, first - self.draws.start + n_draws)
                for own, one in zip(moved, prepared, strict=True):
                    own[place] += one.moves(uniform)
                self.advance(uniform.size)


def null_classwise_ece(sums: CellSums, n_rows: int, n_classes: int) -> FloatArray:
    """Mean calibration errors of the classes (p, B) if every prediction is true."""
    errors = np.empty(sums.moved.shape[:2])
    for found, moved, excess in zip(errors, sums.moved, sums.excess, strict=True):
        step = max(1, RESAMPLING_LIMITS.get().null_cells // len(excess))
        for first in range(0, len(moved), step):
            part = slice(first, first + step)
            found[part] = np.abs(moved[part] + excess).sum(axis=1)
    return errors / (n_rows * n_classes)


def draws_in_passes(n_resamples: int, n_predictions: int, n_cells: int) -> list[range]:
    """Draws in as many passes over the rows as the room for their cells asks for."""
    limits = RESAMPLING_LIMITS.get()
    groups = max(1, limits.max_pass_cells // (n_predictions * n_cells * limits.draws_per_group))
    step = groups * limits.draws_per_group
    return [range(i, min(i + step, n_resamples)) for i in range(0, n_resamples, step)]
