r"""The one objective: multinomial likelihood plus quadratic penalty.

.. math::

    f(\theta) = -\sum_n v_n \ln \mu_{y_n}(s_n) + \sum_e r_e (\theta_e - c_e)^2,
    \qquad \mu(s) = \mathrm{softmax}(W s + b),

with :math:`v_n` the share of row n in the weight (summing to one), :math:`s_n` its scores,
:math:`\theta` the free entries of (W, b) as a structure orders them, and :math:`r_e`, :math:`c_e`
the weight and the centre of the penalty. Everything is a sum over chunks of rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from dircal._typing import FloatArray, IntArray, SmallFloatArray
from dircal.core._penalty import Penalty
from dircal.core._rows import Chunk, Rows
from dircal.core._structure import Structure

__all__ = ["Objective", "Preconditioner", "SecondOrder"]


@dataclass(frozen=True)
class SecondOrder:
    """Loss, gradient (p,), Hessian (p, p) and the likelihood loss of each row at one point.

    The losses of the rows are for comparing, and kept in single precision.
    """

    loss: float
    gradient: FloatArray
    hessian: FloatArray
    row_losses: SmallFloatArray


@dataclass(frozen=True)
class Preconditioner:
    """Inverses (c, q, q) of the blocks along a diagonal, to multiply vectors (cq,) with."""

    inverses: FloatArray

    @property
    def is_diagonal(self) -> bool:
        """Whether the blocks are single numbers, and so cheap to make."""
        return bool(self.inverses.shape[1] == 1)

    def __call__(self, vector: FloatArray) -> FloatArray:
        c, q, _ = self.inverses.shape
        product: FloatArray = np.matmul(self.inverses, vector.reshape(c, q, 1))
        return product.ravel()


@dataclass(frozen=True)
class Objective:
    """Penalised loss of a linear map with a given structure on given rows."""

    rows: Rows
    structure: Structure
    penalty: Penalty

    @cached_property
    def _weight(self) -> FloatArray:
        return self.structure.entries(self.penalty.weight)

    @cached_property
    def _centre(self) -> FloatArray:
        return self.structure.entries(self.penalty.centre)

    def _from_penalty(self, params: FloatArray) -> tuple[float, FloatArray]:
        distance = params - self._centre
        pull = self._weight * distance
        return float(pull @ distance), 2.0 * pull

    def _pass(self, params: FloatArray) -> Iterator[tuple[Chunk, FloatArray, FloatArray]]:
        """Chunks with the probabilities (k, m) of the map and the loss (m,) of each row."""
        for chunk in self.rows:
            logits = self.structure.logits(params, chunk.scores)
            logits -= logits.max(axis=0)
            picked = logits[chunk.labels, np.arange(len(chunk.labels))]
            proba = np.exp(logits, out=logits)
            total = proba.sum(axis=0)
            proba /= total
            yield chunk, proba, np.log(total) - picked

    def loss_and_gradient(self, params: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (p,)."""
        loss, gradient = self._from_penalty(params)
        for chunk, proba, losses in self._pass(params):
            loss += float(chunk.weight @ losses)
            gradient += self._chunk_gradient(chunk, proba)
        return loss, gradient

    def second_order(self, params: FloatArray) -> SecondOrder:
        """Value, gradient (p,) and Hessian (p, p), in one pass."""
        loss, gradient = self._from_penalty(params)
        hessian = np.diag(2.0 * self._weight)
        row_losses = []
        for chunk, proba, losses in self._pass(params):
            loss += float(chunk.weight @ losses)
            row_losses.append(losses.astype(np.float32))
            hessian += self.structure.curvature(proba, chunk.weight, chunk.scores)
            gradient += self._chunk_gradient(chunk, proba)
        return SecondOrder(loss, gradient, hessian, np.concatenate(row_losses))

    def hessian_product(self, params: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Function that multiplies a vector (p,) with the Hessian at ``params``."""
        # Where the scores are kept in memory, so are the probabilities: no exponential a product.
        kept = list(self._pass(params)) if self.rows.in_memory else None

        def product(vector: FloatArray) -> FloatArray:
            result = 2.0 * self._weight * vector
            for chunk, proba, _ in kept if kept is not None else self._pass(params):
                change = self.structure.logits(vector, chunk.scores)
                change -= np.einsum("im,im->m", proba, change)
                change *= proba
                change *= chunk.weight
                result += self.structure.adjoint(change, chunk.scores)
            return result

        return product

    def preconditioner(self, params: FloatArray) -> "Preconditioner":
        """Approximate inverse of the Hessian: that of blocks along its diagonal."""
        parts = (
            self.structure.curvature_blocks(proba, chunk.weight, chunk.scores)
            for chunk, proba, _ in self._pass(params)
        )
        blocks = reduce(np.add, parts)
        shape = blocks.shape[:2]
        every = np.arange(shape[1])
        # A direction without curvature keeps a little of that of its neighbours.
        least = 1e-12 * blocks[:, every, every].max()
        blocks[:, every, every] += 2.0 * self._weight.reshape(shape) + least
        inverses: FloatArray = np.linalg.inv(blocks).astype(np.float64, copy=False)
        return Preconditioner(inverses)

    def reach(self, step: FloatArray) -> float:
        """Largest change that adding ``step`` to the parameters makes to a centred logit."""
        largest = 0.0
        for chunk in self.rows:
            change = self.structure.logits(step, chunk.scores)
            change -= change.mean(axis=0)
            largest = max(largest, float(np.abs(change).max()))
        return largest

    def penalty_along(self, step: FloatArray) -> float:
        """What the penalty of ``step`` would be if it were centred on zero: its curvature.

        Infinite where every entry is penalised: then the optimum is finite, however far away.
        """
        return float(self._weight @ step**2) if (self._weight == 0.0).any() else np.inf

    def unpenalised_shifts(self) -> list[IntArray]:
        """Index sets along which a common shift changes neither likelihood nor penalty."""
        return [shift for shift in self.structure.flat if not self._weight[shift].any()]

    def _chunk_gradient(self, chunk: Chunk, proba: FloatArray) -> FloatArray:
        """Gradient of the loss of one chunk; ``proba`` is used up."""
        proba[chunk.labels, np.arange(len(chunk.labels))] -= 1.0
        proba *= chunk.weight
        return self.structure.adjoint(proba, chunk.scores)
