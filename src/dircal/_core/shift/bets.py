r"""Maps that are learned online, as bets against probabilities that are said to be calibrated.

A map with parameters :math:`\theta` turns log-probabilities s into logits :math:`s + J(s) \theta`;
:math:`\theta = 0` is the identity. The log-likelihood of a block of rows around the current
parameters is taken as a parabola, of which the Hessian H and :math:`H \theta + g` with the gradient
g are all that is kept, in sums D and c. With a Gaussian prior of precision :math:`\Lambda` the
parameters for the next block are

.. math:: \theta = (\Lambda + D)^{-1} c, \qquad D \leftarrow D + H, \qquad
    c \leftarrow c + H \theta + g,

and then both sums fade by a factor of :math:`e^{-L / h}` for L rows, with h the horizon:

memory that does not grow, and no row is read twice. Everything is done for many streams at once,
along the first axis.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = [
    "BETS",
    "AbstractBet",
    "Frequencies",
    "Full",
    "SingleClasses",
    "Temperature",
    "Vector",
    "log_softmax",
]


def log_softmax(logits: FloatArray) -> FloatArray:
    """Along the last axis, in place."""
    logits -= logits.max(axis=-1, keepdims=True)
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return logits


@dataclass(frozen=True)
class AbstractBet(ABC):
    """A family of maps of ``n_classes`` classes, with p parameters."""

    n_classes: int

    horizon: ClassVar[float]
    """Rows after which what was learned counts by a factor of e less."""

    @property
    def n_maps(self) -> int:
        """Number of maps that bet separately."""
        return 1

    def gains(
        self, params: FloatArray, log_q: FloatArray, log_proba: FloatArray, labels: IntArray
    ) -> FloatArray:
        """Logarithms (a, n_maps, l) of what maps make of a stake of one in each row.

        ``log_q`` is the result of `log_proba`; it is compared with ``log_proba`` (a, l, k).
        """
        del params
        places = labels[..., None]
        gained = np.take_along_axis(log_q, places, 2) - np.take_along_axis(log_proba, places, 2)
        found: FloatArray = gained.transpose(0, 2, 1)
        return found

    @property
    @abstractmethod
    def precision(self) -> FloatArray:
        """That of the prior, (p,): how far a map is expected to be from the identity."""

    @abstractmethod
    def log_proba(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Logarithms (a, l, k) of what maps (a, p) make of log-probabilities (a, l, k)."""

    @abstractmethod
    def moments(
        self, scores: FloatArray, proba: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient (a, p) and Hessian (a, p, p) of blocks.

        ``proba`` (a, l, k) is what the maps give, and zero in rows that are not there; ``residual``
        is one at the label, less the probability.
        """

    def solve(self, data_precision: FloatArray, information: FloatArray) -> FloatArray:
        """Parameters (a, p) from what is kept: (a, p, p) and (a, p)."""
        system = data_precision + np.diag(self.precision)
        solved = np.linalg.solve(system, information[..., None])
        return solved[..., 0].astype(np.float64, copy=False)


class Temperature(AbstractBet):
    """One slope for all classes: sharper or less sharp than they should be."""

    horizon = 2000.0

    @property
    def precision(self) -> FloatArray:
        """Slopes within a half of one."""
        return np.full(1, 4.0)

    def log_proba(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Tempered."""
        slope = np.maximum(1.0 + params, SHIFT_LIMITS.get().min_slope)
        return log_softmax(slope[:, :, None] * scores)

    def moments(
        self, scores: FloatArray, proba: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """By the variance of scores within rows."""
        gradient = np.einsum("alk,alk->a", residual, scores)
        mean = np.einsum("alk,alk->al", proba, scores)
        square = np.einsum("alk,alk,alk->al", proba, scores, scores)
        hessian = np.maximum(square - mean**2, 0.0).sum(axis=1)
        return gradient[:, None], hessian[:, None, None]


class Frequencies(AbstractBet):
    """An intercept for each class: more or less frequent than they are said to be."""

    horizon = 2000.0

    @property
    def precision(self) -> FloatArray:
        """Odds within a factor of two, give or take."""
        return np.full(self.n_classes, 2.0)

    def log_proba(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Moved."""
        return log_softmax(scores + params[:, None, :])

    def moments(
        self, scores: FloatArray, proba: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """By the covariance of the labels."""
        del scores
        hessian = -(proba.transpose(0, 2, 1) @ proba)
        places = np.arange(self.n_classes)
        hessian[:, places, places] += proba.sum(axis=1)
        return residual.sum(axis=1), hessian


class SingleClasses(AbstractBet):
    r"""A map for each class with an intercept for that class alone.

    With the intercept :math:`\theta_j` the odds of class j are multiplied by
    :math:`e^{\theta_j}`; here the logits are those of class j under the map of class j.
    """

    horizon = 2000.0

    @property
    def n_maps(self) -> int:
        """One for each class."""
        return self.n_classes

    @property
    def precision(self) -> FloatArray:
        """As for the frequencies."""
        return np.full(self.n_classes, 2.0)

    def log_proba(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Each class by its map."""
        normal = log_softmax(scores.copy())
        moved = normal + params[:, None, :]
        found: FloatArray = moved - self._log_total(normal, params)
        return found

    def _log_total(self, normal: FloatArray, params: FloatArray) -> FloatArray:
        """Logarithms (a, l, k) of the sum over all classes under the map of each."""
        total: FloatArray = np.log1p(np.exp(normal) * np.expm1(params)[:, None, :])
        return total

    def gains(
        self, params: FloatArray, log_q: FloatArray, log_proba: FloatArray, labels: IntArray
    ) -> FloatArray:
        """By the odds of the class, of which all other classes lose or gain alike."""
        normal = log_softmax(log_proba.copy())
        hit = labels[..., None] == np.arange(self.n_classes)
        gained = (normal - log_proba) + hit * params[:, None, :] - self._log_total(normal, params)
        found: FloatArray = gained.transpose(0, 2, 1)
        return found

    def moments(
        self, scores: FloatArray, proba: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """By the variance of each label alone."""
        del scores
        hessian = np.zeros((len(proba), self.n_classes, self.n_classes))
        places = np.arange(self.n_classes)
        hessian[:, places, places] = (proba * (1.0 - proba)).sum(axis=1)
        return residual.sum(axis=1), hessian


class Vector(AbstractBet):
    """A slope and an intercept for each class; parameters are the slopes, then the intercepts."""

    horizon = 4000.0

    @property
    def precision(self) -> FloatArray:
        """Slopes within a third of one, intercepts as above."""
        return np.repeat([10.0, 2.0], self.n_classes)

    def log_proba(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """Each class by its own."""
        slopes, intercepts = np.split(params[:, None, :], 2, axis=2)
        return log_softmax((1.0 + slopes) * scores + intercepts)

    def moments(
        self, scores: FloatArray, proba: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Of scores and a one."""
        k = self.n_classes
        features = np.concatenate([proba * scores, proba], axis=2)
        hessian = -(features.transpose(0, 2, 1) @ features)
        i, j = np.arange(k), np.arange(k, 2 * k)
        crossed = (proba * scores).sum(axis=1)
        hessian[:, i, i] += (proba * scores * scores).sum(axis=1)
        hessian[:, i, j] += crossed
        hessian[:, j, i] += crossed
        hessian[:, j, j] += proba.sum(axis=1)
        gradient = np.concatenate([(residual * scores).sum(axis=1), residual.sum(axis=1)], axis=1)
        return gradient, hessian


class Full(AbstractBet):
    """A matrix and intercepts, [W - I | b] row by row: classes that are newly confused."""

    horizon = 4000.0

    @property
    def precision(self) -> FloatArray:
        """As for the vector on the diagonal and in the intercepts, and narrower beside it."""
        k = self.n_classes
        entries = np.full((k, k + 1), 10.0 * k)
        entries[np.arange(k), np.arange(k)] = 10.0
        entries[:, -1] = 2.0
        return entries.ravel()

    def log_proba(self, params: FloatArray, scores: FloatArray) -> FloatArray:
        """By the matrix, which reads scores less their mean in a row."""
        k = self.n_classes
        weights = params.reshape(len(params), k, k + 1)
        centred = scores - scores.mean(axis=2, keepdims=True)
        return log_softmax(
            scores + centred @ weights[:, :, :-1].transpose(0, 2, 1) + weights[:, None, :, -1]
        )

    def moments(
        self, scores: FloatArray, proba: FloatArray, residual: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Blocks of classes, by products of scores and a one."""
        n_streams, n_rows, k = scores.shape
        centred = scores - scores.mean(axis=2, keepdims=True)
        features = np.concatenate([centred, np.ones((n_streams, n_rows, 1))], axis=2)
        gradient = residual.transpose(0, 2, 1) @ features
        spread = (proba[..., None] * features[:, :, None, :]).reshape(n_streams, n_rows, -1)
        turned = spread.transpose(0, 2, 1)
        hessian = -(turned @ spread)
        width = k + 1
        # Beside itself every class has the products of its features once more.
        own = turned @ features
        for i in range(k):
            block = slice(i * width, (i + 1) * width)
            hessian[:, block, block] += own[:, block]
        return gradient.reshape(n_streams, -1), hessian


BETS: dict[str, type[AbstractBet]] = {
    "temperature": Temperature,
    "frequencies": Frequencies,
    "classes": SingleClasses,
    "vector": Vector,
    "full": Full,
}
"""By name."""
