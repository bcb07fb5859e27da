r"""Two classes: the logistic loss in a few features of the scores.

.. math::

    f(\theta) = \sum_n v_n \ln\bigl(1 + e^{-\sigma_n \theta \cdot x_n}\bigr) + t \cdot \theta,

with :math:`v_n` the weight of row n, :math:`x_n` its features, :math:`\sigma_n` = 1
for the second class and -1 for the first, and :math:`t` a tilt, zero unless targets are smoothed.
It is the objective of `objective` for k = 2 in terms of the difference of the two logits: the
same minimum, for a third of the time a pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import AbstractSums, Chunk, Largest, once
from dircal._core.data.rows import Rows
from dircal._core.model.limits import MODEL_LIMITS
from dircal._core.model.objective import Evaluation
from dircal._core.model.penalty import spread_and_share
from dircal._typing import FloatArray, IntArray

__all__ = ["Features", "LogisticObjective", "log_odds", "signed"]

# The exponentials of these are finite, with room for the sum and the quotients after them.
_LARGEST_LOSS = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 80.0}

Features = Callable[[FloatArray], FloatArray]
"""From scores (2, m) to features (d, m), in an array of their own."""
_Floats = npt.NDArray[np.floating[Any]]
_T = TypeVar("_T")
_tokens = count()


def log_odds(scores: FloatArray) -> FloatArray:
    """The difference (1, m) of the two scores: one slope and no intercept."""
    return np.subtract(scores[1:], scores[:1])


def signed(labels: IntArray) -> FloatArray:
    """1 for the second class and -1 for the first."""
    return np.where(labels > 0, 1.0, -1.0)


@dataclass(frozen=True)
class _Part:
    """Features (d, m) of some rows times the sign (m,) of their class, and their weights (m,)."""

    features: _Floats
    weight: _Floats
    sign: _Floats


@dataclass(frozen=True)
class LogisticObjective:
    """Mean logistic loss of a linear map of given features.

    A linear term ``tilt`` (d,) and ``ridge`` times the squares of the parameters are added, these
    in units of what they do to a logit: with it there is a finite optimum also where the classes
    are separated. Rows in single precision take half the time, and are good for a first guess.
    """

    rows: Rows
    features: Features
    tilt: FloatArray | float = 0.0
    ridge: float = 0.0
    token: int = field(default_factory=lambda: next(_tokens))

    hessian_is_cheap = True
    """With two classes it is next to nothing on top of the gradient."""

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return self.rows.total_weight

    def _fold(self, function: Callable[[_Part], _T]) -> _T:
        part = partial(_signed_part, self.features, self.rows.dtype, self.token)
        return self.rows.fold(partial(_of_part, function, part))

    @cached_property
    def _moments(self) -> "_Moments":
        return self._fold(_moments)

    @cached_property
    def _weight(self) -> FloatArray | float:
        """Weight (d,) of each squared parameter."""
        if not self.ridge:
            return 0.0
        squares = self._moments.products.diagonal()
        spread, share = spread_and_share(self._moments.means, squares)
        # A feature that never changes is the intercept: it makes up for the means of the others.
        constant = spread <= MODEL_LIMITS.get().min_spread * np.maximum(squares, 1.0)
        least = share[~constant].min(initial=1.0)
        weight: FloatArray = self.ridge * np.where(constant, least, spread)
        return weight

    def _from_terms(self, params: FloatArray) -> tuple[float, FloatArray]:
        pull = self._weight * params
        return float(np.sum((self.tilt + pull) * params)), self.tilt + 2.0 * pull

    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and gradient (d,), with the Hessian that comes along."""
        return self.evaluate_with_hessian(params)

    def evaluate_with_hessian(self, params: FloatArray) -> Evaluation:
        """Value, gradient (d,) and Hessian (d, d), in one pass."""
        at = self._fold(partial(_evaluate, params.astype(self.rows.dtype, copy=False)))
        loss, gradient = self._from_terms(params)
        assert at.hessian is not None
        hessian = at.hessian + np.diag(2.0 * self._weight + np.zeros_like(params))
        return Evaluation(at.loss + loss, at.gradient + gradient, at.largest_row_loss, hessian)

    def max_logit_change(self, step: FloatArray) -> float:
        """Largest change that adding ``step`` to the parameters makes to a centred logit."""
        return float(self._fold(partial(_max_logit_change, step)).value)

    def bernoulli_variance(self, params: FloatArray) -> float:
        """Least curvature of a direction, against the mean square of the logits it makes.

        It is the mean of p (1 - p), weighted by these squares: next to nothing if the direction
        separates the classes. Directions that change no logit do not count.
        """
        sizes, directions = np.linalg.eigh(self._moments.products)
        seen = sizes > MODEL_LIMITS.get().min_spread * sizes[-1]
        whiten = directions[:, seen] / np.sqrt(sizes[seen])
        hessian = self.evaluate_with_hessian(params).hessian
        return float(np.linalg.eigvalsh(whiten.T @ hessian @ whiten)[0])

    def null_directions(self) -> list[IntArray]:
        """One logit stands for both classes: there is no common shift."""
        return []


@dataclass
class _Moments(AbstractSums):
    """Mean products (d, d) of the features, whose signs do not matter, and their means (d,)."""

    products: FloatArray
    means: FloatArray


def _moments(part: _Part) -> _Moments:
    products = ((part.features * part.weight) @ part.features.T).astype(np.float64, copy=False)
    means = ((part.features * part.sign) @ part.weight).astype(np.float64, copy=False)
    return _Moments(products, means)


def _signed_part(
    features: Features, dtype: type[np.floating[Any]], token: int, chunk: Chunk
) -> _Part:
    """Features of a chunk times the signs of its labels, computed once where chunks are kept."""

    def make() -> _Part:
        hard = chunk.as_hard()
        found, sign = features(hard.scores), signed(hard.labels)
        found *= sign
        return _Part(
            found.astype(dtype, copy=False),
            hard.weight.astype(dtype, copy=False),
            sign.astype(dtype, copy=False),
        )

    # A slot for each precision: a first guess in one is followed by a fit in the other.
    return once(chunk.memo, f"features {dtype.__name__}", token, make)


def _of_part(function: Callable[[_Part], _T], part: Callable[[Chunk], _Part], chunk: Chunk) -> _T:
    return function(part(chunk))


def _evaluate(params: _Floats, part: _Part) -> Evaluation:
    losses, misses, curvatures = _pointwise(params @ part.features)
    loss = float(part.weight @ losses)
    misses *= part.weight
    gradient = -(part.features @ misses).astype(np.float64, copy=False)
    curvatures *= part.weight
    # Row by row, which for so few is twice as fast as a matrix product.
    hessian = np.empty((len(params), len(params)))
    for row, feature in zip(hessian, part.features, strict=True):
        row[:] = part.features @ (feature * curvatures)
    return Evaluation(loss, gradient, float(losses.max()), hessian)


def _max_logit_change(step: FloatArray, part: _Part) -> Largest:
    return Largest(0.5 * float(np.abs(step @ part.features).max()))


def _pointwise(margin: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """Loss, probability of the wrong class, and its product with that of the right one.

    All from one exponential; the margin is used up.
    """
    if margin.min() < -_LARGEST_LOSS[margin.dtype]:
        return _pointwise_far(margin)
    odds = np.exp(np.negative(margin, out=margin), out=margin)
    total = odds + 1.0
    miss = np.divide(odds, total, out=odds)
    curvature = miss / total
    return np.log(total, out=total), miss, curvature


def _pointwise_far(margin: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """The same for margins of any size, at nearly twice the cost."""
    odds = np.exp(-np.abs(margin))
    total = odds + 1.0
    miss = np.where(margin < 0.0, 1.0, odds) / total
    curvature = odds / total / total
    return np.log(total) - np.minimum(margin, 0.0), miss, curvature
