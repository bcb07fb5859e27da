r"""The one objective: multinomial likelihood plus quadratic penalty.

.. math::

    f(\theta) = -\sum_n v_n \ln \mu_{y_n}(s_n) + \sum_e r_e (\theta_e - c_e)^2,
    \qquad \mu(s) = \mathrm{softmax}(W s + b),

with :math:`v_n` the weight of row n (summing to one), :math:`s_n` its scores, :math:`\theta` the
free entries of (W, b) as a structure orders them, and :math:`r_e`, :math:`c_e` the weight and the
centre of the penalty. With J the Jacobian of the logits of a row in :math:`\theta` and
:math:`e_{y}` its one-hot label, gradient and Hessian are

.. math::

    \nabla f = \sum_n v_n J_n^T (\mu_n - e_{y_n}) + 2 r (\theta - c), \qquad
    \nabla^2 f = \sum_n v_n J_n^T (\mathrm{diag}\,\mu_n - \mu_n \mu_n^T) J_n
    + 2\,\mathrm{diag}\,r.

Everything is a sum over chunks of rows; `structure` writes the sums out for each kind of J.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Self, TypeAlias

import numpy as np

from dircal._core.caching import cached_property
from dircal._core.data.chunks import AbstractSums, Chunk, Largest, once
from dircal._core.data.losses import largest_loss
from dircal._core.data.rows import Rows
from dircal._core.model.moments import HessianMoments
from dircal._core.model.penalty import ParameterPenalty, Penalty, spread_and_share
from dircal._core.model.structure import Structure
from dircal._typing import AnyFloatArray, FloatArray, IntArray

__all__ = [
    "Evaluation",
    "Likelihood",
    "Linearisation",
    "Objective",
    "evaluate_with_hessian",
    "evaluation_of",
    "evaluation_with_hessian",
    "forward",
]

_Part: TypeAlias = tuple[AnyFloatArray, AnyFloatArray, AnyFloatArray]
"""Scores (k, m), probabilities (k, m) and weights (m,) of some rows."""
_tokens = count()


@dataclass
class Evaluation:
    """Loss, gradient (p,), the largest loss of a row, and the Hessian (p, p) where it is formed."""

    loss: float
    gradient: FloatArray
    largest_row_loss: float
    hessian: FloatArray | None = None

    def __iadd__(self, other: Self) -> Self:
        self.loss += other.loss
        self.gradient += other.gradient
        self.largest_row_loss = max(self.largest_row_loss, other.largest_row_loss)
        if self.hessian is not None and other.hessian is not None:
            self.hessian += other.hessian
        return self


@dataclass(frozen=True)
class _Point:
    """Where probabilities are looked at, in which precision, and a name for what is kept."""

    params: FloatArray
    dtype: type[np.floating[Any]]
    token: int = field(default_factory=lambda: next(_tokens))


@dataclass(eq=False)
class Likelihood:
    """Mean negative log-likelihood of a linear map with a given structure on given rows.

    What was computed last is kept: along a path of penalties the likelihood stays the same, and
    the optimum of one penalty is where the next one starts. ``hessian`` is the last one formed.
    """

    rows: Rows
    structure: Structure
    hessian: FloatArray | None = field(default=None, repr=False)
    _last: tuple[FloatArray, Evaluation] | None = field(default=None, repr=False)

    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and gradient (p,)."""
        if self._last is None or self._last[0] is not params:
            found = self.rows.fold(partial(_evaluate, self.structure, params))
            self._last = params, found
        return self._last[1]

    def evaluate_with_hessian(self, params: FloatArray) -> Evaluation:
        """Value, gradient (p,) and Hessian (p, p), in one pass."""
        if self._last is None or self._last[0] is not params or self._last[1].hessian is None:
            found = self.rows.fold(partial(evaluate_with_hessian, self.structure, params))
            self._last, self.hessian = (params, found), found.hessian
        return self._last[1]

    def linearise(self, params: FloatArray, dtype: type[np.floating[Any]]) -> "Linearisation":
        """Value and gradient (p,), and products with the Hessian without forming it.

        Single precision halves the time of everything that is done with the Hessian. Value and
        gradient are in double precision always, and so are sums over chunks.
        """
        point = _Point(params, dtype)
        found = self.rows.fold(partial(_linearise, self.structure, point))
        return Linearisation(self, point, found)

    @cached_property
    def feature_moments(self) -> "FeatureMoments":
        """Means and mean squares of the scores."""
        return self.rows.fold(_feature_moments)

    @property
    def last_params(self) -> FloatArray | None:
        """Where it was evaluated last, without a pass if it is asked again."""
        return None if self._last is None else self._last[0]


@dataclass(frozen=True)
class Linearisation:
    """Value and gradient (p,) at a point, products with the Hessian there, and its moments.

    Chunks that stay in memory keep their probabilities: no exponential for a product.
    """

    likelihood: Likelihood
    point: _Point
    at: Evaluation

    def product(self, vector: FloatArray) -> FloatArray:
        """The Hessian of the likelihood times ``vector`` (p,)."""
        structure = self.likelihood.structure
        small = vector.astype(self.point.dtype, copy=False)
        return self.likelihood.rows.fold(partial(_hessian_product, structure, self.point, small))

    @cached_property
    def moments(self) -> HessianMoments:
        """Moments of the rows around this point."""
        structure = self.likelihood.structure
        return self.likelihood.rows.fold(partial(_moments, structure, self.point))


@dataclass(frozen=True)
class Objective:
    """Likelihood plus penalty."""

    likelihood: Likelihood
    penalty: Penalty | ParameterPenalty

    hessian_is_cheap = False
    """Whether it costs next to nothing on top of the gradient."""

    @property
    def structure(self) -> Structure:
        """Which entries of (W, b) are free."""
        return self.likelihood.structure

    @property
    def n_params(self) -> int:
        """Length p of the parameter vector."""
        return self.structure.n_params

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return self.likelihood.rows.total_weight

    @cached_property
    def _weight(self) -> FloatArray:
        return self._entries(self.penalty.weight)

    @cached_property
    def _centre(self) -> FloatArray:
        return self._entries(self.penalty.centre)

    def _entries(self, values: FloatArray) -> FloatArray:
        """In the order of the parameters."""
        flat = isinstance(self.penalty, ParameterPenalty)
        return values if flat else self.structure.entries(values)

    @cached_property
    def penalty_hessian(self) -> FloatArray:
        """Diagonal (p,) of the Hessian of the penalty."""
        return 2.0 * self._weight

    def from_penalty(self, params: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (p,) of the penalty alone."""
        distance = params - self._centre
        pull = self._weight * distance
        return float(pull @ distance), 2.0 * pull

    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and gradient (p,)."""
        return self._penalised(self.likelihood.evaluate(params), params)

    def evaluate_with_hessian(self, params: FloatArray) -> Evaluation:
        """Value, gradient (p,) and Hessian (p, p), in one pass."""
        at = self.likelihood.evaluate_with_hessian(params)
        assert at.hessian is not None
        return replace(self._penalised(at, params), hessian=self.add_penalty(at.hessian))

    def add_penalty(self, hessian: FloatArray) -> FloatArray:
        """A Hessian of the likelihood with that of the penalty on top."""
        return hessian + np.diag(self.penalty_hessian)

    def linearise(self, params: FloatArray, dtype: type[np.floating[Any]]) -> Linearisation:
        """The likelihood around a point, with the value and gradient of the whole objective."""
        found = self.likelihood.linearise(params, dtype)
        return replace(found, at=self._penalised(found.at, params))

    def _penalised(self, at: Evaluation, params: FloatArray) -> Evaluation:
        loss, gradient = self.from_penalty(params)
        return Evaluation(at.loss + loss, at.gradient + gradient, at.largest_row_loss)

    def with_ridge(self, ridge: float) -> "Objective":
        """The same with ``ridge`` times the squared change that each entry makes to a logit.

        The change that a slope makes is its score less the mean score, for the intercept makes up
        for the mean; the intercept is penalised so little that it can.
        """
        moments = self.likelihood.feature_moments
        spread, share = spread_and_share(moments.means, moments.squares)
        if self.n_params == 1:
            spread[:] = spread.mean()
        weight = self.penalty.weight + ridge * np.append(spread, share.min())
        return replace(self, penalty=Penalty(weight, self.penalty.centre))

    def max_logit_change(self, step: FloatArray) -> float:
        """Largest change that adding ``step`` to the parameters makes to a centred logit."""
        return float(
            self.likelihood.rows.fold(partial(_max_logit_change, self.structure, step)).value
        )

    def subsample(self) -> "Objective | None":
        """The same for some of the rows, enough for a first guess; None if there are few."""
        few = self.likelihood.rows.subsample(self.n_params)
        return None if few is None else replace(self, likelihood=Likelihood(few, self.structure))

    def null_directions(self) -> list[IntArray]:
        """Index sets along which a common shift changes neither likelihood nor penalty."""
        return [shift for shift in self.structure.null_directions if not self._weight[shift].any()]


@dataclass
class FeatureMoments(AbstractSums):
    """Weighted means (k,) and mean squares (k,) of the scores."""

    means: FloatArray
    squares: FloatArray


def _feature_moments(chunk: Chunk) -> FeatureMoments:
    scores, weight = chunk.scores, chunk.weight
    return FeatureMoments(scores @ weight, np.einsum("jm,jm,m->j", scores, scores, weight))


def forward(
    structure: Structure, params: FloatArray, chunk: Chunk
) -> tuple[AnyFloatArray, AnyFloatArray]:
    """Probabilities (k, m) of the map, and the loss (m,) of each row."""
    logits = structure.logits(params, chunk.scores)
    logits -= logits.max(axis=0)
    picked = chunk.at_targets(logits)
    proba = np.exp(logits, out=logits)
    total = proba.sum(axis=0)
    proba /= total
    return proba, np.log(total) - picked


def evaluation_of(
    structure: Structure, chunk: Chunk, proba: AnyFloatArray, losses: AnyFloatArray
) -> Evaluation:
    """What `forward` says of one chunk, summed: loss and gradient; ``proba`` is used up."""
    largest = largest_loss(chunk, proba, losses)
    chunk.less_targets(proba)
    proba *= chunk.weight.astype(proba.dtype, copy=False)
    gradient = structure.adjoint(proba, chunk.scores)
    return Evaluation(float(chunk.weight @ losses), gradient, largest)


def _evaluate(structure: Structure, params: FloatArray, chunk: Chunk) -> Evaluation:
    return evaluation_of(structure, chunk, *forward(structure, params, chunk))


def evaluation_with_hessian(
    structure: Structure, chunk: Chunk, proba: AnyFloatArray, losses: AnyFloatArray
) -> Evaluation:
    """The same with the Hessian."""
    hessian = structure.hessian(proba, chunk.weight, chunk.scores)
    return replace(evaluation_of(structure, chunk, proba, losses), hessian=hessian)


def evaluate_with_hessian(structure: Structure, params: FloatArray, chunk: Chunk) -> Evaluation:
    """Value, gradient (p,) and Hessian (p, p) of one chunk."""
    return evaluation_with_hessian(structure, chunk, *forward(structure, params, chunk))


def _linearise(structure: Structure, point: _Point, chunk: Chunk) -> Evaluation:
    proba, losses = forward(structure, point.params, chunk)
    if chunk.memo is not None:
        once(chunk.memo, "linearised", point.token, lambda: _as_part(point, chunk, proba))
    return evaluation_of(structure, chunk, proba, losses)


def _as_part(point: _Point, chunk: Chunk, proba: AnyFloatArray) -> _Part:
    dtype = point.dtype
    scores = chunk.scores.astype(dtype, copy=False)
    return scores, proba.astype(dtype), chunk.weight.astype(dtype)


def _part(structure: Structure, point: _Point, chunk: Chunk) -> _Part:
    """What a chunk has kept of a point, or what it finds there."""
    return once(
        chunk.memo,
        "linearised",
        point.token,
        lambda: _as_part(point, chunk, forward(structure, point.params, chunk)[0]),
    )


def _hessian_product(
    structure: Structure, point: _Point, vector: AnyFloatArray, chunk: Chunk
) -> FloatArray:
    """Sum of v J^T (diag(mu) - mu mu^T) J vector over the rows of a chunk."""
    scores, proba, weight = _part(structure, point, chunk)
    change = structure.logits(vector, scores)
    change -= np.einsum("im,im->m", proba, change)
    change *= proba
    change *= weight
    return structure.adjoint(change, scores).astype(np.float64, copy=False)


def _moments(structure: Structure, point: _Point, chunk: Chunk) -> HessianMoments:
    scores, proba, weight = _part(structure, point, chunk)
    return structure.hessian_moments(proba, weight, scores)


def _max_logit_change(structure: Structure, step: FloatArray, chunk: Chunk) -> Largest:
    change = structure.logits(step, chunk.scores)
    change -= change.mean(axis=0)
    return Largest(float(np.abs(change).max()))
