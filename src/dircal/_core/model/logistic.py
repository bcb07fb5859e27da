r"""Two classes: the logistic loss in a few features of the scores.

.. math::

    f(\theta) = \sum_n v_n \ln\bigl(1 + e^{-\sigma_n \theta \cdot x_n}\bigr) + t \cdot \theta,

with :math:`v_n` the share of row n in the weight, :math:`x_n` its features, :math:`\sigma_n` = 1
for the second class and -1 for the first, and :math:`t` a tilt, zero unless targets are smoothed.
It is the objective of `_objective` for k = 2 in terms of the difference of the two logits: the
same minimum, for a third of the time a pass.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import Rows
from dircal._core.model.objective import SecondOrder
from dircal._core.model.penalty import NO_SPREAD, spread_and_share
from dircal._typing import FloatArray, IntArray

__all__ = ["Features", "LogisticObjective", "log_odds", "sigmoid", "signed"]

# The exponentials of these are finite, with room for the sum and the quotients after them.
_LARGEST_LOSS = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 80.0}

Features = Callable[[FloatArray], FloatArray]
"""From scores (2, m) to features (d, m), in an array of their own."""
_Floats = npt.NDArray[np.floating[Any]]


def log_odds(scores: FloatArray) -> FloatArray:
    """The difference (1, m) of the two scores: one slope and no intercept."""
    return np.subtract(scores[1:], scores[:1])


def sigmoid(logits: FloatArray) -> FloatArray:
    """Probability of the second class, without overflow."""
    small = np.exp(-np.abs(logits))
    return np.where(logits < 0.0, small, 1.0) / (1.0 + small)


def signed(labels: IntArray) -> FloatArray:
    """1 for the second class and -1 for the first."""
    return np.where(labels > 0, 1.0, -1.0)


@dataclass(frozen=True)
class _Part:
    """Features (d, m) of some rows times the sign (m,) of their class, and their shares (m,)."""

    features: _Floats
    weight: _Floats
    sign: _Floats


@dataclass(frozen=True)
class LogisticObjective:
    """Mean logistic loss of a linear map of given features.

    A linear term ``tilt`` (d,) and ``trace`` times the squares of the parameters are added, these
    in units of what they do to a logit: with it there is a finite optimum also where the classes
    can be separated. Rows in single precision take half the time, and are good for a first guess.
    """

    rows: Rows
    features: Features
    tilt: FloatArray | float = 0.0
    trace: float = 0.0

    def __iter__(self) -> Iterator[_Part]:
        return iter(self._kept) if self._kept is not None else self._read_all()

    @cached_property
    def _kept(self) -> tuple[_Part, ...] | None:
        return tuple(self._read_all()) if self.rows.in_memory else None

    def _read_all(self) -> Iterator[_Part]:
        for chunk in self.rows:
            features, sign = self.features(chunk.scores), signed(chunk.labels)
            features *= sign
            yield _Part(
                features.astype(self.rows.precision, copy=False),
                chunk.weight.astype(self.rows.precision, copy=False),
                sign.astype(self.rows.precision, copy=False),
            )

    def _margins(self, params: FloatArray, part: _Part) -> _Floats:
        margins: _Floats = params.astype(self.rows.precision, copy=False) @ part.features
        return margins

    @cached_property
    def _moments(self) -> FloatArray:
        """Mean products (d, d) of the features; their signs do not matter."""
        products = [(part.features * part.weight) @ part.features.T for part in self]
        moments: FloatArray = np.sum(products, axis=0, dtype=np.float64)
        return moments

    @cached_property
    def _weight(self) -> FloatArray | float:
        """Weight (d,) of each squared parameter."""
        if not self.trace:
            return 0.0
        squares = self._moments.diagonal()
        means = np.sum([self._means(part) for part in self], axis=0)
        spread, share = spread_and_share(means, squares)
        # A feature that never changes is the intercept: it makes up for the means of the others.
        constant = spread <= NO_SPREAD * np.maximum(squares, 1.0)
        least = share[~constant].min(initial=1.0)
        weight: FloatArray = self.trace * np.where(constant, least, spread)
        return weight

    def _means(self, part: _Part) -> FloatArray:
        """Sums of the features of some rows, without the signs of their classes."""
        means: FloatArray = (part.features * part.sign) @ part.weight
        return means

    def _from_terms(self, params: FloatArray) -> tuple[float, FloatArray]:
        pull = self._weight * params
        return float(np.sum((self.tilt + pull) * params)), self.tilt + 2.0 * pull

    def loss_and_gradient(self, params: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient (d,)."""
        loss, gradient = self._from_terms(params)
        for part in self:
            losses, misses, _ = _pointwise(self._margins(params, part))
            loss += float(part.weight @ losses)
            misses *= part.weight
            gradient -= part.features @ misses
        return loss, gradient

    def second_order(self, params: FloatArray) -> SecondOrder:
        """Value, gradient (d,) and Hessian (d, d), in one pass."""
        loss, gradient = self._from_terms(params)
        hessian = np.diag(2.0 * self._weight + np.zeros_like(params))
        row_losses = []
        for part in self:
            losses, misses, curvatures = _pointwise(self._margins(params, part))
            loss += float(part.weight @ losses)
            with np.errstate(over="ignore"):  # on the way of a step that will be cut short
                row_losses.append(losses.astype(np.float32, copy=False))
            misses *= part.weight
            gradient -= part.features @ misses
            curvatures *= part.weight
            # Row by row, which for so few is twice as fast as a matrix product.
            for row, feature in zip(hessian, part.features, strict=True):
                row += part.features @ (feature * curvatures)
        return SecondOrder(loss, gradient, hessian, np.concatenate(row_losses))

    def reach(self, step: FloatArray) -> float:
        """Largest change that adding ``step`` to the parameters makes to a centred logit."""
        return max(0.5 * float(np.abs(step @ part.features).max()) for part in self)

    def penalty_along(self, step: FloatArray) -> float:
        """There is no penalty; infinite where the optimum is finite, however far away."""
        del step
        return np.inf if self.trace else 0.0

    def doubt(self, params: FloatArray) -> float:
        """Least curvature of a direction, against the mean square of the logits it makes.

        It is the mean of p (1 - p), weighted by these squares: next to nothing if the direction
        separates the classes. Directions that change no logit do not count.
        """
        sizes, directions = np.linalg.eigh(self._moments)
        seen = sizes > NO_SPREAD * sizes[-1]
        whiten = directions[:, seen] / np.sqrt(sizes[seen])
        return float(np.linalg.eigvalsh(whiten.T @ self.second_order(params).hessian @ whiten)[0])

    def unpenalised_shifts(self) -> list[IntArray]:
        """There is nothing to shift: one logit stands for both classes."""
        return []


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
