"""Counts of labels that are drawn from the predictions, in the bins of all classes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dircal._core.stats.bins import Bins
from dircal._core.stats.null_resampling import CellSums, NullCells, draws_in_passes
from dircal._core.stats.row_blocks import RowBlocks, drawing_rows, ignore
from dircal._typing import FloatArray
from dircal.inference._chosen_measure import ChosenMeasure
from dircal.metrics import Block, ClassCurves, GapSum, Predictions, fold_together

__all__ = ["null_cells", "null_gaps"]


def null_cells(
    several: Sequence[Predictions],
    bins: Sequence[Bins],
    n_resamples: int,
    seed: int,
    advance: Callable[[int], None] = ignore,
) -> Iterator[CellSums]:
    """Yield the counts of some draws after others; all predictions share their uniform numbers."""
    n, k = several[0].n_samples, several[0].n_classes
    blocks = RowBlocks(n, seed)
    for draws in draws_in_passes(n_resamples, len(several), k * bins[0].n_bins):
        of_blocks = _OfBlocks(NullCells(tuple(bins), blocks, draws, advance))
        yield fold_together(several, of_blocks, drawing_rows(k))


def null_gaps(
    measure: ChosenMeasure, predictions: Predictions, n_resamples: int, seed: int
) -> FloatArray | None:
    """Return the gaps (n_resamples, g) of a measure if every prediction is true.

    None if the measure is not a sum of gaps of classes, or if labels are soft.
    """
    quantity = measure.quantity(predictions)
    if not isinstance(quantity, GapSum) or predictions.has_soft_labels:
        return None
    if not isinstance(quantity.curves, ClassCurves):
        return None
    bins = predictions.table(ClassCurves(), quantity.rule).bins
    passes = null_cells([predictions], [bins], n_resamples, seed)
    counts = np.concatenate([sums.moved[0] + sums.excess[0] for sums in passes])
    by_class = counts.reshape(n_resamples, predictions.n_classes, -1)
    if quantity.curves.chosen is not None:
        by_class = by_class[:, list(quantity.curves.chosen)]
    found: FloatArray = by_class.reshape(n_resamples, -1)
    found /= predictions.n_samples * quantity.divisor
    return found


@dataclass(frozen=True, eq=False)
class _OfBlocks:
    """Cells of labels that are drawn for a block."""

    cells: NullCells

    def __call__(self, blocks: tuple[Block, ...]) -> CellSums:
        return self.cells([block.proba for block in blocks], blocks[0].start)
