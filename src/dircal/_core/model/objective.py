r"""The one objective: multinomial likelihood plus quadratic penalty.

.. math::

    f(\theta) = -\sum_n v_n \ln \mu_{y_n}(s_n) + \sum_e r_e (\theta_e - c_e)^2,
    \qquad \mu(s) = \mathrm{softmax}(W s + b),

with :math:`v_n` the share of row n in the weight (summing to one), :math:`s_n` its scores,
:math:`\theta` the free entries of (W, b) as a structure orders them, and :math:`r_e`, :math:`c_e`
the weight and the centre of the penalty. Everything is a sum over chunks of rows.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np

from dircal._core.data.chunks import Chunk, Rows
from dircal._core.model.penalty import Penalty, spread_and_share
from dircal._core.model.precondition import Preconditioner, Sketch, make_preconditioner
from dircal._core.model.structure import Structure
from dircal._typing import AnyFloatArray, FloatArray, IntArray, SmallFloatArray

__all__ = ["LocalModel", "Objective", "SecondOrder"]

_Part: TypeAlias = tuple[AnyFloatArray, AnyFloatArray, AnyFloatArray]
"""Scores (k, m), probabilities (k, m) and weights (m,) of some rows."""


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

    @cached_property
    def penalty_curvature(self) -> FloatArray:
        """Second derivatives (p,) of the penalty."""
        return 2.0 * self._weight

    def from_penalty(self, params: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (p,) of the penalty alone."""
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
        loss, gradient = self.from_penalty(params)
        for chunk, proba, losses in self._pass(params):
            loss += float(chunk.weight @ losses)
            gradient += self._chunk_gradient(chunk, proba)
        return loss, gradient

    def second_order(self, params: FloatArray) -> SecondOrder:
        """Value, gradient (p,) and Hessian (p, p), in one pass."""
        loss, gradient = self.from_penalty(params)
        hessian = np.diag(self.penalty_curvature)
        row_losses = []
        for chunk, proba, losses in self._pass(params):
            loss += float(chunk.weight @ losses)
            row_losses.append(losses.astype(np.float32))
            hessian += self.structure.curvature(proba, chunk.weight, chunk.scores)
            gradient += self._chunk_gradient(chunk, proba)
        return SecondOrder(loss, gradient, hessian, np.concatenate(row_losses))

    def blocks_of_classes(self, params: FloatArray, classes: IntArray) -> FloatArray:
        """Hessian (c, q, q) of the likelihood in the parameters of each of some classes alone.

        For structures in which each class has the same features, its scores and a one.
        """
        width = self.rows.n_classes + 1
        blocks = np.zeros((len(classes), width, width))
        for chunk, proba, _ in self._pass(params):
            picked = proba[classes]
            doubt = picked * (1.0 - picked) * chunk.weight
            features = np.ones((width, len(chunk.labels)), dtype=chunk.scores.dtype)
            features[:-1] = chunk.scores
            for block, of_rows in zip(blocks, doubt.astype(features.dtype), strict=True):
                block += (features * of_rows) @ features.T
        return blocks

    def local_model(
        self, params: FloatArray, precision: type[np.floating[Any]] = np.float64
    ) -> "LocalModel":
        """Value and gradient (p,), and the curvature around them.

        Single ``precision`` halves the time of everything that is done with the curvature. Value
        and gradient are in double precision always, and so are sums over chunks.
        """
        loss, gradient = self.from_penalty(params)
        kept: list[_Part] | None = [] if self.rows.in_memory else None
        for number, (chunk, proba, losses) in enumerate(self._pass(params)):
            loss += float(chunk.weight @ losses)
            if kept is not None:
                small = precision is np.float32
                scores = self._small_scores[number] if small else chunk.scores
                kept.append((scores, proba.astype(precision), chunk.weight.astype(precision)))
            gradient += self._chunk_gradient(chunk, proba)
        return LocalModel(self, params, loss, gradient, kept)

    @cached_property
    def _small_scores(self) -> list[AnyFloatArray]:
        return [chunk.scores for chunk in self.rows.in_single()]

    def held(self, trace: float) -> "Objective":
        """The same with a penalty of ``trace`` times the square of what each entry does to a logit.

        What a slope does is its score less the mean of that, for the intercept makes up for the
        mean; it is penalised so little that it can.
        """
        k = self.rows.n_classes
        means, squares = np.zeros(k), np.zeros(k)
        for chunk in self.rows:
            means += chunk.scores @ chunk.weight
            squares += np.einsum("jm,jm,m->j", chunk.scores, chunk.scores, chunk.weight)
        spread, share = spread_and_share(means, squares)
        if self.structure.n_params == 1:
            spread[:] = spread.mean()
        weight = self.penalty.weight + trace * np.append(spread, share.min())
        return replace(self, penalty=Penalty(weight, self.penalty.centre))

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

        Infinite where the optimum is finite, however far away.
        """
        return float(self._weight @ step**2) if (self._weight == 0.0).any() else np.inf

    def unpenalised_shifts(self) -> list[IntArray]:
        """Index sets along which a common shift changes neither likelihood nor penalty."""
        return [shift for shift in self.structure.flat if not self._weight[shift].any()]

    def _chunk_gradient(self, chunk: Chunk, proba: FloatArray) -> FloatArray:
        """Gradient of the loss of one chunk; ``proba`` is used up."""
        proba[chunk.labels, np.arange(len(chunk.labels))] -= 1.0
        proba *= chunk.weight.astype(proba.dtype, copy=False)
        return self.structure.adjoint(proba, chunk.scores)


@dataclass(frozen=True)
class LocalModel:
    """Loss and gradient (p,) at a point, products with the Hessian and a preconditioner.

    Where the scores are kept in memory, so are the probabilities: no exponential a product.
    """

    objective: Objective
    params: FloatArray
    loss: float
    gradient: FloatArray
    kept: list[_Part] | None

    def _parts(self) -> Iterator[_Part]:
        if self.kept is not None:
            yield from self.kept
            return
        for chunk, proba, _ in self.objective._pass(self.params):
            yield chunk.scores, proba, chunk.weight

    def product(self, vector: FloatArray) -> FloatArray:
        """The Hessian times ``vector`` (p,)."""
        structure = self.objective.structure
        result = self.objective.penalty_curvature * vector
        for scores, proba, weight in self._parts():
            change = structure.logits(vector.astype(proba.dtype, copy=False), scores)
            change -= np.einsum("im,im->m", proba, change)
            change *= proba
            change *= weight
            result += structure.adjoint(change, scores)
        return result

    @cached_property
    def sketch(self) -> Sketch:
        """Moments of the rows around this point."""
        parts = (
            self.objective.structure.sketch(proba, weight, scores)
            for scores, proba, weight in self._parts()
        )
        return reduce(operator.add, parts)

    def preconditioner(self) -> Preconditioner:
        """Approximate inverse of the Hessian."""
        owner = self.objective.structure.owner
        return make_preconditioner(self.sketch, owner, self.objective.penalty_curvature)
