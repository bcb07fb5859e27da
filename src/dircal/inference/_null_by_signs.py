"""Null samples of very many classes: labels drawn once, and rows with random signs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dircal._core.data.chunks import AbstractSums
from dircal._core.stats.bins import Bins
from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.moments import null_variances
from dircal._core.stats.multipliers import (
    SignedSums,
    scale_to_variances,
    sign_rows,
    signed_stride,
)
from dircal._core.stats.row_blocks import RowBlocks, drawing_rows, uniform_of
from dircal._threads import limited_blas
from dircal._typing import FloatArray, IntArray
from dircal.metrics import BinRule, Block, ClassCurves, GapSum, Predictions, fold_together

__all__ = ["null_by_signs"]


def null_by_signs(
    predictions: Predictions, rule: BinRule, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Calibration errors of the classes (n_resamples,) if every prediction is true.

    Labels that are drawn from the predictions have the residuals of the null hypothesis, and signs
    make many sets of residuals of one. Dependence of cells comes from rows with signs, the spread
    of each cell from all rows, as in `null_errors`.
    """
    n, k = predictions.n_samples, predictions.n_classes
    gaps = GapSum(ClassCurves(), predictions.settle(ClassCurves(), rule), predictions.dtype, k)
    bins, summed = predictions.table(ClassCurves(), rule).bins, gaps.sums(predictions)
    labels, signs = (RowBlocks(n, int(seed)) for seed in rng.integers(2**63, size=2))
    of_blocks = _SignedNull(summed.terms, bins, labels, signs, n_resamples, signed_stride(n))
    with limited_blas((n, 1)):
        found = fold_together([predictions], of_blocks, drawing_rows(k))
    drawn = found.rows.as_drawn
    deviations = summed.read(drawn.drawn - drawn.total)
    scale_to_variances(deviations, found.variances / (n * k) ** 2, rng)
    errors: FloatArray = np.abs(deviations, out=deviations).sum(axis=1)
    return errors


@dataclass
class _NullSums(AbstractSums):
    """Variances (cells,) of all rows, and sums of rows with signs."""

    variances: FloatArray
    rows: SignedSums


@dataclass(frozen=True, eq=False)
class _SignedNull:
    """What a block adds, with labels drawn from its probabilities in place of its own."""

    terms: Callable[[Block], RowTerms]
    bins: Bins
    labels: RowBlocks
    signs: RowBlocks
    n_resamples: int
    every: int

    def __call__(self, blocks: tuple[Block, ...]) -> _NullSums:
        [block] = blocks
        drawn = Block(block.proba, self._draw(block), None, block.start)
        rows = sign_rows([self.terms(drawn)], block.start, self.signs, self.n_resamples, self.every)
        return _NullSums(null_variances(block.proba, self.bins), rows)

    def _draw(self, block: Block) -> IntArray:
        labels = np.empty(len(block.labels), dtype=np.int64)
        for part in self.labels.cut(block.start, len(labels)):
            [uniform] = uniform_of(self.labels.generator(part.number), 1, part)
            below = block.proba[:, part.place].cumsum(axis=0) < uniform
            labels[part.place] = below.sum(axis=0)
        return labels.clip(max=len(block.proba) - 1)
