"""Parts of a Hessian that stand for the whole, where that is too large to be formed."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.rows import Rows
from dircal._core.model.curved import Curved
from dircal._core.model.moments import HessianMoments
from dircal._core.model.objective import Evaluation, evaluation_of, forward
from dircal._core.model.structure import Structure
from dircal._typing import FloatArray, IntArray

__all__ = ["blocks_of_classes", "evaluate_with_moments", "hessian_of_shared"]


def blocks_of_classes(
    rows: Rows, structure: Structure, params: FloatArray, classes: IntArray
) -> FloatArray:
    """Hessian (c, q, q) of the mean loss in the linear parameters of each of some classes alone."""
    return rows.fold(partial(_blocks_of_classes, structure, params, classes))


def hessian_of_shared(rows: Rows, structure: Curved, params: FloatArray) -> FloatArray:
    """Hessian (s, s) of the mean loss in the coefficients that all classes share."""
    return rows.fold(partial(_hessian_of_shared, structure, params))


def evaluate_with_moments(
    rows: Rows, structure: Structure, params: FloatArray
) -> tuple[Evaluation, HessianMoments]:
    """Value and gradient (p,) of the mean loss, and moments of the rows behind its Hessian."""
    found = rows.fold(partial(_evaluate_with_moments, structure, params))
    return found.at, found.moments


@dataclass
class _WithMoments(AbstractSums):
    at: Evaluation
    moments: HessianMoments


def _evaluate_with_moments(structure: Structure, params: FloatArray, chunk: Chunk) -> _WithMoments:
    proba, losses = forward(structure, params, chunk)
    moments = structure.hessian_moments(proba, chunk.weight, chunk.scores)
    return _WithMoments(evaluation_of(structure, chunk, proba, losses), moments)


def _blocks_of_classes(
    structure: Structure, params: FloatArray, classes: IntArray, chunk: Chunk
) -> FloatArray:
    proba, _ = forward(structure, params, chunk)
    picked = proba[classes]
    variances = (picked * (1.0 - picked) * chunk.weight).astype(chunk.scores.dtype)
    blocks = []
    for j, variance in zip(classes, variances, strict=True):
        features = structure.features_of_class(int(j), chunk.scores)
        blocks.append((features * variance) @ features.T)
    return np.array(blocks, dtype=np.float64)


def _hessian_of_shared(structure: Curved, params: FloatArray, chunk: Chunk) -> FloatArray:
    proba, _ = forward(structure, params, chunk)
    hessian = structure.hessian_of_shared(proba, chunk.weight, chunk.scores)
    return hessian.astype(np.float64, copy=False)
