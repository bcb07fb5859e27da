r"""A linear map plus curves: more statistics of each class, with coefficients of their own.

Beside its score s_i, class i of a row has statistics f_1i, …, f_di. Logits are

.. math:: z_i = \sum_j w_{ij} s_j + b_i + \sum_c a_c f_{ci} + \sum_{c > d - o} h_{ic} f_{ci},

with coefficients a that all classes share, and own ones h for the last o of the statistics.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dircal._core.model.moments import HessianMoments
from dircal._core.model.structure import Diagonal, Full
from dircal._typing import FloatArray, IntArray

__all__ = ["Curved"]


@dataclass(frozen=True)
class Curved:
    """Parameters of a linear ``base``, then shared coefficients a, then own ones class by class.

    Scores come stacked, (k (1 + d), m): those of the base, and below them the statistics. Own
    coefficients need a full base.
    """

    base: Full | Diagonal
    n_shared: int
    n_own: int

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return self.base.n_classes

    @property
    def n_params(self) -> int:
        """Length of the parameter vector."""
        return self.base.n_params + self.n_shared + self.n_classes * self.n_own

    @property
    def null_directions(self) -> IntArray:
        """Those of the base: no curve is the same for all classes."""
        return self.base.null_directions

    @cached_property
    def shared(self) -> slice:
        """Where the shared coefficients are."""
        return slice(self.base.n_params, self.base.n_params + self.n_shared)

    def entries(self, table: FloatArray) -> FloatArray:
        """Those of the base; curves have no place in a table of [W | b]."""
        return self.base.entries(table)

    def pack(self, weights: FloatArray) -> FloatArray:
        """Parameters of a map without curves."""
        return np.append(
            self.base.pack(weights), np.zeros(self.n_shared + self.n_classes * self.n_own)
        )

    def unpack(self, params: FloatArray) -> FloatArray:
        """[W | b], without the curves."""
        return self.base.unpack(params[: self.base.n_params])

    def coefficients(self, params: FloatArray) -> FloatArray:
        """Of each statistic for each class, (k, d): shared and own ones together."""
        together = np.tile(params[self.shared], (self.n_classes, 1))
        if self.n_own:
            together[:, -self.n_own :] += self._own(params)
        return together

    def logits(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Those of the base plus the curves."""
        plain, statistics = self.split(scores)
        out = self.base.logits(params[: self.base.n_params], plain)
        out += (params[self.shared] @ _flat(statistics)).reshape(out.shape)
        if self.n_own:
            out += np.einsum("ic,cim->im", self._own(params), statistics[-self.n_own :])
        return out

    def adjoint(self, residual: FloatArray, scores: FloatArray) -> FloatArray:
        """Products of residuals with scores and statistics."""
        plain, statistics = self.split(scores)
        parts = [self.base.adjoint(residual, plain), _flat(statistics) @ residual.ravel()]
        if self.n_own:
            own = np.einsum("im,cim->ic", residual, statistics[-self.n_own :])
            parts.append(own.ravel())
        return np.concatenate(parts)

    def hessian(self, proba: FloatArray, weight: FloatArray, scores: FloatArray) -> FloatArray:
        """Blocks of the base, the shared and the own coefficients against each other."""
        plain, statistics = self.split(scores)
        n, shared, own = self.base.n_params, self.shared, slice(self.shared.stop, None)
        hessian = np.empty((self.n_params, self.n_params))
        hessian[:n, :n] = self.base.hessian(proba, weight, plain)
        pulled = _pulled(proba, weight, statistics)
        for row, each in zip(hessian[shared], pulled, strict=True):
            row[:n] = self.base.adjoint(each, plain)
        hessian[shared, shared] = _flat(pulled) @ _flat(statistics).T
        if self.n_own:
            bent = statistics[-self.n_own :]
            hessian[shared, own] = np.einsum("cim,oim->cio", pulled, bent, optimize=True).reshape(
                self.n_shared, -1
            )
            self._fill_own(hessian, proba, weight, plain, bent)
            hessian[own, shared] = hessian[shared, own].T
        hessian[:n, n:] = hessian[n:, :n].T
        return hessian

    @property
    def param_class(self) -> IntArray:
        """Shared coefficients count as one class of their own."""
        k = self.n_classes
        return np.concatenate(
            [
                self.base.param_class,
                np.full(self.n_shared, k),
                np.repeat(np.arange(k), self.n_own),
            ]
        )

    def hessian_moments(
        self, proba: FloatArray, weight: FloatArray, scores: FloatArray
    ) -> HessianMoments:
        """Those of the base, and the Hessian of the shared coefficients as it is."""
        plain, statistics = self.split(scores)
        k, n_shared = self.n_classes, self.n_shared
        base = self.base.hessian_moments(proba, weight, plain)
        shared = self.hessian_of_shared(proba, weight, scores)
        variance = weight * proba * (1.0 - proba)
        own = statistics[len(statistics) - self.n_own :]
        coupling = np.zeros((k + 1, k + 1))
        coupling[:k, :k] = base.coupling
        first = [base.first, np.zeros(n_shared), np.einsum("cim,im->ic", own, variance).ravel()]
        second = [
            base.second,
            shared.diagonal(),
            np.einsum("cim,cim,im->ic", own, own, variance).ravel(),
        ]
        return HessianMoments(
            np.concatenate(first, dtype=np.float64),
            np.concatenate(second, dtype=np.float64),
            coupling,
            np.append(base.mass, 0.0),
            shared.astype(np.float64),
        )

    def hessian_of_shared(
        self, proba: FloatArray, weight: FloatArray, scores: FloatArray
    ) -> FloatArray:
        """Hessian (s, s) in the shared coefficients alone."""
        _, statistics = self.split(scores)
        return _flat(_pulled(proba, weight, statistics)) @ _flat(statistics).T

    def features_of_class(self, j: int, scores: FloatArray) -> FloatArray:
        """Those of the base."""
        return self.base.features_of_class(j, self.split(scores)[0])

    def split(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores (k, m) of the base and statistics (d, k, m)."""
        blocks = scores.reshape(1 + self.n_shared, self.n_classes, -1)
        return blocks[0], blocks[1:]

    def _own(self, params: FloatArray) -> FloatArray:
        return params[self.shared.stop :].reshape(self.n_classes, self.n_own)

    def _fill_own(
        self,
        hessian: FloatArray,
        proba: FloatArray,
        weight: FloatArray,
        plain: FloatArray,
        bent: FloatArray,
    ) -> None:
        """Own coefficients against the base and each other.

        The block of classes i and j is the sum over rows of -p_i p_j f_i g_j, with f and g the
        features of the two, and that of a class with itself the sum of p_i (1 - p_i) f_i g_i.
        """
        k, o, n_rows = self.n_classes, self.n_own, len(weight)
        own = slice(self.shared.stop, None)
        features = np.vstack([plain, np.ones(n_rows)])
        rest = proba.sum(axis=0) - proba
        curves = bent.transpose(1, 0, 2)
        weighted = (curves * (weight * proba)[:, None]).reshape(k * o, n_rows)
        of_base = (proba[:, None] * features).reshape(-1, n_rows)
        of_curves = (curves * proba[:, None]).reshape(k * o, n_rows)
        with_base = -(weighted @ of_base.T).reshape(k, o, k, k + 1)
        with_own = -(weighted @ of_curves.T).reshape(k, o, k, o)
        for i in range(k):
            of_class = curves[i] * (weight * proba[i] * rest[i])
            with_base[i, :, i] = of_class @ features.T
            with_own[i, :, i] = of_class @ curves[i].T
        hessian[own, : self.base.n_params] = with_base.reshape(k * o, -1)
        hessian[own, own] = with_own.reshape(k * o, k * o)


def _flat(statistics: FloatArray) -> FloatArray:
    """One row (k m,) for each statistic."""
    return statistics.reshape(len(statistics), -1)


def _pulled(proba: FloatArray, weight: FloatArray, statistics: FloatArray) -> FloatArray:
    """Weight * (diag(p) - p p^T) f of each statistic, (d, k, m)."""
    means = np.einsum("im,cim->cm", proba, statistics)
    pulled: FloatArray = statistics - means[:, None]
    pulled *= weight * proba
    return pulled
