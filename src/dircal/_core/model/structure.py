"""Structures: which entries of (W, b) are free, and how they act on scores.

A structure is a linear map from a parameter vector (p,) to the logits of a chunk. With J the
Jacobian of the logits of one row, every structure offers

* ``logits(params, scores)``: J params, for all rows, (k, m);
* ``adjoint(residual, scores)``: the sum over rows of J^T residual, (p,);
* ``hessian(proba, weight, scores)``: the sum over rows of
  weight * J^T (diag(proba) - proba proba^T) J, (p, p);
* ``hessian_moments(proba, weight, scores)``: what a preconditioner needs to know of that.

The objective is written in these and knows no structure by name.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dircal._core.model.limits import MODEL_LIMITS
from dircal._core.model.moments import HessianMoments
from dircal._typing import FloatArray, IntArray

__all__ = ["Diagonal", "Full", "Scalar", "Structure"]


class Structure(Protocol):
    """What the objective and the solvers need to know of a structure."""

    @property
    def n_params(self) -> int:
        """Length of the parameter vector."""

    @property
    def null_directions(self) -> IntArray:
        """Indices (d, k): adding one number to the entries of a row changes no probability.

        They span the null space of the likelihood: softmax does not see a common shift.
        """

    def entries(self, table: FloatArray) -> FloatArray:
        """Those of the entries (k, k + 1) that are free, in the order of the parameters."""

    def pack(self, weights: FloatArray) -> FloatArray:
        """Parameters of the map with ``weights`` (k, k + 1), intercepts in the last column."""

    def unpack(self, params: FloatArray) -> FloatArray:
        """Weights (k, k + 1) of a parameter vector."""

    def logits(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Logits (k, m) of ``scores`` (k, m)."""

    def adjoint(self, residual: FloatArray, scores: FloatArray) -> FloatArray:
        """Gradient in the parameters from the gradient in the logits (k, m)."""

    def hessian(self, proba: FloatArray, weight: FloatArray, scores: FloatArray) -> FloatArray:
        """Hessian in the parameters of the weighted loss."""

    @property
    def param_class(self) -> IntArray:
        """Class (p,) whose logit each parameter moves, as `hessian_moments` counts classes."""

    def hessian_moments(
        self, proba: FloatArray, weight: FloatArray, scores: FloatArray
    ) -> HessianMoments:
        """Moments behind `hessian`; its diagonal is exact."""

    def features_of_class(self, j: int, scores: FloatArray) -> FloatArray:
        """What the parameters of class ``j`` alone are multiplied by, (q, m)."""


def _pair_products(rows: FloatArray, apart: int) -> FloatArray:
    """Products (p, m) of rows i and j of ``rows`` (size, m), for all j - i of at least ``apart``.

    In the order of the upper triangle of a matrix.
    """
    size = len(rows)
    result = np.empty((len(np.triu_indices(size, apart)[0]), rows.shape[1]))
    start = 0
    for i, row in enumerate(rows):
        stop = start + max(size - i - apart, 0)
        np.multiply(row, rows[i + apart :], out=result[start:stop])
        start = stop
    return result


def _moments_by_class(
    structure: Structure, proba: FloatArray, weight: FloatArray, scores: FloatArray
) -> HessianMoments:
    """HessianMoments of a structure in which each parameter moves the logit of one class."""
    weighted = weight * proba
    coupling = -(weighted @ proba.T)
    weighted_variance = weighted * (1.0 - proba)
    np.fill_diagonal(coupling, weighted_variance.sum(axis=1))
    sums = (
        structure.adjoint(weighted_variance, scores),
        structure.adjoint(weighted_variance, scores**2),
        coupling,
        weighted.sum(axis=1),
    )
    # Single precision ends here: sums over chunks are double.
    return HessianMoments(*(each.astype(np.float64, copy=False) for each in sums))


@dataclass(frozen=True)
class Full:
    """Full matrix and intercepts; parameters are the rows of [W | b], one after another.

    With ``n_free = n_classes - 1`` the last row is held at zero.
    """

    n_classes: int
    n_free: int

    @property
    def n_params(self) -> int:
        """Length of the parameter vector."""
        return self.n_free * (self.n_classes + 1)

    @property
    def null_directions(self) -> IntArray:
        """Every column of [W | b], if no row is held."""
        if self.n_free < self.n_classes:
            return np.empty((0, 0), dtype=np.intp)
        return np.arange(self.n_params).reshape(self.n_classes, self.n_classes + 1).T

    def entries(self, table: FloatArray) -> FloatArray:
        """Free rows, one after another."""
        return table[: self.n_free].ravel()

    def pack(self, weights: FloatArray) -> FloatArray:
        """Free rows of ``weights``, less the last row where that is held at zero."""
        return self.entries(weights - weights[-1] if self.n_free < self.n_classes else weights)

    def unpack(self, params: FloatArray) -> FloatArray:
        """Parameters as rows; the held row is zero."""
        weights = np.zeros((self.n_classes, self.n_classes + 1), dtype=params.dtype)
        weights[: self.n_free] = params.reshape(self.n_free, -1)
        return weights

    def logits(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """W s + b."""
        weights = self.unpack(params)
        out = weights[:, :-1] @ scores
        out += weights[:, -1:]
        return out

    def adjoint(self, residual: FloatArray, scores: FloatArray) -> FloatArray:
        """Products of residuals with scores, and their sums."""
        free = residual[: self.n_free]
        return np.column_stack([free @ scores.T, free.sum(axis=1)]).ravel()

    def hessian(self, proba: FloatArray, weight: FloatArray, scores: FloatArray) -> FloatArray:
        """Sum over rows of weight * (diag(p) - p p^T) kron (s, 1)(s, 1)^T.

        With t = (s, 1), the block of classes i and j is the sum over rows of -p_i p_j t t^T, and
        because probabilities sum to one that of class i with itself is minus the sum of the others
        in its row: 1 - p_i is never taken, and keeps its digits where p_i is nearly one. Products
        are symmetric in the classes and in the scores, so half of each is enough, and one matrix
        product sums them over the rows.
        """
        k, width = self.n_classes, self.n_classes + 1
        i, j = np.triu_indices(k, 1)
        a, b = np.triu_indices(width)
        pairs = np.zeros((len(i), len(a)))
        step = max(64, MODEL_LIMITS.get().hessian_elements // len(a))
        for start in range(0, len(weight), step):
            part = slice(start, start + step)
            extended = np.vstack([scores[:, part], np.ones(len(weight[part]))])
            right = _pair_products(extended * np.sqrt(weight[part]), 0)
            pairs += _pair_products(proba[:, part], 1) @ right.T
        blocks = np.zeros((k, k, len(a)))
        blocks[i, j] = blocks[j, i] = -pairs
        every = np.arange(k)
        blocks[every, every] = -blocks.sum(axis=1)
        place = np.empty((width, width), dtype=np.intp)
        place[a, b] = place[b, a] = np.arange(len(a))
        free = blocks[: self.n_free, : self.n_free, place]
        return free.transpose(0, 2, 1, 3).reshape(self.n_params, self.n_params)

    @property
    def param_class(self) -> IntArray:
        """Each row of [W | b] belongs to one class."""
        return np.repeat(np.arange(self.n_free), self.n_classes + 1)

    def hessian_moments(
        self, proba: FloatArray, weight: FloatArray, scores: FloatArray
    ) -> HessianMoments:
        """Moments of scores and a one, by the Bernoulli variance of each class."""
        return _moments_by_class(self, proba[: self.n_free], weight, scores)

    def features_of_class(self, j: int, scores: FloatArray) -> FloatArray:
        """All scores and a one."""
        del j
        return np.vstack([scores, np.ones((1, scores.shape[1]), dtype=scores.dtype)])


@dataclass(frozen=True)
class Diagonal:
    """A slope and an intercept for each class; parameters are the slopes, then the intercepts."""

    n_classes: int

    @property
    def n_params(self) -> int:
        """Length of the parameter vector."""
        return 2 * self.n_classes

    @property
    def null_directions(self) -> IntArray:
        """The intercepts."""
        return np.arange(self.n_classes, 2 * self.n_classes)[None, :]

    def entries(self, table: FloatArray) -> FloatArray:
        """Diagonal and last column."""
        return np.concatenate([np.diagonal(table), table[:, -1]])

    def pack(self, weights: FloatArray) -> FloatArray:
        """Diagonal and last column of ``weights``."""
        return self.entries(weights)

    def unpack(self, params: FloatArray) -> FloatArray:
        """A diagonal matrix beside the intercepts."""
        slopes, intercepts = np.split(params, 2)
        return np.column_stack([np.diag(slopes), intercepts])

    def logits(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Slope times score plus intercept."""
        slopes, intercepts = np.split(params, 2)
        return slopes[:, None] * scores + intercepts[:, None]

    def adjoint(self, residual: FloatArray, scores: FloatArray) -> FloatArray:
        """Per class, the product with the scores and the sum."""
        return np.concatenate([np.einsum("im,im->i", residual, scores), residual.sum(axis=1)])

    def hessian(self, proba: FloatArray, weight: FloatArray, scores: FloatArray) -> FloatArray:
        """Four k x k blocks: slopes and intercepts against each other."""
        products = np.vstack([proba * scores, proba]) * np.sqrt(weight)
        hessian: FloatArray = -(products @ products.T)
        weighted = weight * proba
        moments = [np.einsum("im,im->i", weighted, scores**power) for power in (2, 1, 0)]
        i = np.arange(self.n_classes)
        j = i + self.n_classes
        hessian[i, i] += moments[0]
        hessian[i, j] += moments[1]
        hessian[j, i] += moments[1]
        hessian[j, j] += moments[2]
        return hessian

    @property
    def param_class(self) -> IntArray:
        """The class of each slope, then of each intercept."""
        return np.tile(np.arange(self.n_classes), 2)

    def hessian_moments(
        self, proba: FloatArray, weight: FloatArray, scores: FloatArray
    ) -> HessianMoments:
        """Moments of the own score and a one, by the Bernoulli variance of each class."""
        return _moments_by_class(self, proba, weight, scores)

    def features_of_class(self, j: int, scores: FloatArray) -> FloatArray:
        """Its own score and a one."""
        return np.vstack([scores[j], np.ones_like(scores[j])])


@dataclass(frozen=True)
class Scalar:
    """One slope for all classes, no intercept: temperature scaling with slope 1/t."""

    n_classes: int

    @property
    def n_params(self) -> int:
        """Length of the parameter vector."""
        return 1

    @property
    def null_directions(self) -> IntArray:
        """A common slope changes every probability."""
        return np.empty((0, 0), dtype=np.intp)

    def entries(self, table: FloatArray) -> FloatArray:
        """The first diagonal entry, which all others repeat."""
        return table[:1, 0].copy()

    def pack(self, weights: FloatArray) -> FloatArray:
        """The slope on the diagonal of ``weights``."""
        return self.entries(weights)

    def unpack(self, params: FloatArray) -> FloatArray:
        """The slope on the diagonal."""
        return np.eye(self.n_classes, self.n_classes + 1) * float(params[0])

    def logits(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Slope times score."""
        return float(params[0]) * scores

    def adjoint(self, residual: FloatArray, scores: FloatArray) -> FloatArray:
        """Product of residuals and scores."""
        return np.array([np.vdot(residual, scores)])

    def hessian(self, proba: FloatArray, weight: FloatArray, scores: FloatArray) -> FloatArray:
        """Weighted mean over rows of the variance of the scores under ``proba``."""
        products = proba * scores
        means = products.sum(axis=0)
        # The variance as a mean of squared deviations: a difference of two second moments loses
        # all digits where one class has nearly all the mass.
        products = scores - means
        products *= products
        return np.array([[weight @ np.einsum("im,im->m", products, proba)]])

    @property
    def param_class(self) -> IntArray:
        """All classes share the slope: it counts as one class of its own."""
        return np.zeros(1, dtype=np.intp)

    def hessian_moments(
        self, proba: FloatArray, weight: FloatArray, scores: FloatArray
    ) -> HessianMoments:
        """The one entry of `hessian`, without a mean."""
        second = self.hessian(proba, weight, scores)[0].astype(np.float64)
        return HessianMoments(np.zeros(1), second, np.zeros((1, 1)), np.zeros(1))

    def features_of_class(self, j: int, scores: FloatArray) -> FloatArray:
        """None: no class has a parameter of its own."""
        del j
        return np.empty((0, scores.shape[1]), dtype=scores.dtype)
