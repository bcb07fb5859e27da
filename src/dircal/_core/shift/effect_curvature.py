"""Hessians of the penalised loss of a group, factored in coordinates where the prior is one.

Diagonal effects have a slope, and a scale and an intercept for each class. Before the slope, which
acts like the same scale in all classes, the Hessian of m rows with k classes is

.. math:: I + D - U U^T,

with D of 2 x 2 blocks, one for each class, and U of shape (2k, m). With fewer rows than 2k this is
inverted through a matrix (m, m) (Woodbury); either way nothing is larger than the smaller of the
two, and both give the same result.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray

__all__ = ["AbstractCurvature", "DenseCurvature", "LowRankCurvature", "diagonal_curvature"]


class AbstractCurvature(Protocol):
    """The Hessian of a loss and a prior."""

    def solve(self, gradient: FloatArray) -> FloatArray:
        """The inverse times a vector."""

    @property
    def variances(self) -> FloatArray:
        """The diagonal of the inverse, at most the variances of the prior."""

    @property
    def log_determinant(self) -> float:
        """Log-determinant, less that of the prior."""


@dataclass(frozen=True)
class DenseCurvature:
    """Of the Hessian (p, p) of the loss and the precisions (p,) of the prior."""

    hessian: FloatArray
    precision: FloatArray

    @cached_property
    def _factor(self) -> tuple[FloatArray, float]:
        width = 1.0 / np.sqrt(self.precision)
        white = width[:, None] * self.hessian * width
        white[np.diag_indices_from(white)] += 1.0
        root, log_determinant = _inverse_root(white, 1.0)
        return width[:, None] * root, log_determinant

    def solve(self, gradient: FloatArray) -> FloatArray:
        """The inverse times a vector."""
        root, _ = self._factor
        found: FloatArray = root @ (root.T @ gradient)
        return found

    @property
    def variances(self) -> FloatArray:
        """The diagonal of the inverse, at most the variances of the prior."""
        root, _ = self._factor
        found: FloatArray = np.minimum((root**2).sum(axis=1), 1.0 / self.precision)
        return found

    @property
    def log_determinant(self) -> float:
        """Log-determinant, less that of the prior."""
        return self._factor[1]


@dataclass(frozen=True)
class LowRankCurvature:
    """Of diagonal effects with few rows.

    ``blocks`` (2, 2, k) are those of D for each class and ``columns`` (2, k, m) those of U, of
    scales and intercepts; ``precision`` (2k + 1,) is that of the slope, scales and intercepts.
    """

    blocks: FloatArray
    columns: FloatArray
    precision: FloatArray

    @cached_property
    def _width(self) -> FloatArray:
        return 1.0 / np.sqrt(self.precision)

    @cached_property
    def _white_columns(self) -> FloatArray:
        return self._width[1:, None] * self.columns.reshape(-1, self.columns.shape[2])

    @cached_property
    def _inverse_blocks(self) -> tuple[FloatArray, FloatArray]:
        """Inverses (2, 2, k) and log-determinants (k,) of I + D."""
        width = self._width[1:].reshape(2, -1)
        (a, b), (_, c) = width[:, None] * self.blocks * width
        # Rounding must not make a block indefinite, however large its numbers are.
        determinants = 1.0 + a + c + np.maximum(a * c - b * b, 0.0)
        inverses = np.array([[1.0 + c, -b], [-b, 1.0 + a]]) / determinants
        return inverses, np.log(determinants)

    @cached_property
    def _factor(self) -> tuple[FloatArray, float]:
        """R (2k, m) with (I + D - U U^T)^-1 = (I + D)^-1 + R R^T, and the log-determinant."""
        columns = self._white_columns
        inverses, log_determinants = self._inverse_blocks
        shrunk = _times_blocks(inverses, columns)
        inner = np.eye(columns.shape[1]) - columns.T @ shrunk
        root, log_determinant = _inverse_root(inner, 1.0 / (1.0 + float(np.vdot(columns, columns))))
        return shrunk @ root, log_determinant + float(log_determinants.sum())

    def _solve_white(self, vector: FloatArray) -> FloatArray:
        """The inverse of I + D - U U^T times a vector."""
        root, _ = self._factor
        inverses, _ = self._inverse_blocks
        found: FloatArray = _times_blocks(inverses, vector) + root @ (root.T @ vector)
        return found

    @cached_property
    def _slope(self) -> tuple[FloatArray, float]:
        """The effect (2k,) of the slope on the others, and its precision given the others."""
        n_classes = self.blocks.shape[2]
        ones = np.r_[np.ones(n_classes), np.zeros(n_classes)] * (self._width[0] / self._width[1:])
        width = self._width[1:].reshape(2, -1)
        columns = self._white_columns
        pulled = _times_blocks(width[:, None] * self.blocks * width, ones)
        effect = self._solve_white(pulled - columns @ (columns.T @ ones))
        return effect, 1.0 + max(float(ones @ effect), 0.0)

    def solve(self, gradient: FloatArray) -> FloatArray:
        """The inverse times a vector."""
        effect, precision = self._slope
        white = self._width * gradient
        slope = (white[0] - effect @ white[1:]) / precision
        others = self._solve_white(white[1:]) - slope * effect
        found: FloatArray = self._width * np.r_[slope, others]
        return found

    @property
    def variances(self) -> FloatArray:
        """The diagonal of the inverse, at most the variances of the prior."""
        root, _ = self._factor
        effect, precision = self._slope
        inverses, _ = self._inverse_blocks
        others = np.r_[inverses[0, 0], inverses[1, 1]] + (root**2).sum(axis=1)
        white = np.r_[1.0 / precision, others + effect**2 / precision]
        found: FloatArray = np.minimum(white, 1.0) / self.precision
        return found

    @property
    def log_determinant(self) -> float:
        """Log-determinant, less that of the prior."""
        return self._factor[1] + float(np.log(self._slope[1]))


def diagonal_curvature(
    proba: FloatArray, scores: FloatArray, weight: FloatArray, precision: FloatArray
) -> AbstractCurvature:
    """That of diagonal effects: probabilities and scores (k, m), weights (m,) of the rows."""
    weighted = proba * weight
    moments = [(weighted * scores**power).sum(axis=1) for power in (2, 1, 0)]
    blocks = np.array([moments[:2], moments[1:]])
    root = proba * np.sqrt(weight)
    columns = np.array([root * scores, root])
    n_classes, n_rows = proba.shape
    if n_rows < 2 * n_classes:
        return LowRankCurvature(blocks, columns, precision)
    flat = columns.reshape(-1, n_rows)
    inner = -(flat @ flat.T)
    every = np.arange(n_classes)
    for i in (0, 1):
        for j in (0, 1):
            inner[every + i * n_classes, every + j * n_classes] += blocks[i, j]
    # The slope acts like the same scale in all classes.
    with_slope = np.vstack([inner[:n_classes].sum(axis=0), inner])
    first = with_slope[:, :n_classes].sum(axis=1)
    return DenseCurvature(np.column_stack([first, with_slope]), precision)


def _times_blocks(blocks: FloatArray, values: FloatArray) -> FloatArray:
    """Blocks (2, 2, k) times the rows (2k, ...) that belong to a class."""
    halves = values.reshape(2, blocks.shape[2], -1)
    product: FloatArray = np.einsum("abk,bkm->akm", blocks, halves)
    return product.reshape(values.shape)


def _inverse_root(matrix: FloatArray, least: float) -> tuple[FloatArray, float]:
    """R with R R^T the inverse of a symmetric matrix, and the log-determinant of the matrix.

    No eigenvalue is less than ``least``; one that seems to be is only rounding.
    """
    lower, failed = dpotrf(matrix, lower=1, clean=1)
    pivots = lower.diagonal()
    if not failed and pivots.min() ** 2 >= SHIFT_LIMITS.get().pivot_rounding * least:
        inverse, _ = dtrtri(lower, lower=1)
        return inverse.T, 2.0 * float(np.log(pivots).sum())
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, least)
    return vectors / np.sqrt(values), float(np.log(values).sum())
