"""The optimiser behind the printed tables: Adam in single precision, stopped early.

The objectives are convex, and our fits are their minima. The published ones are where Adam stood
when the training loss had not fallen for 15 epochs. To see what of a difference is due to that,
the published procedure is repeated here: batches of 128 in the order of a seed, the loss of Keras
of that time, and the arithmetic of single precision.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["AdamMap", "Strengths", "fit_matrix", "fit_vector", "log_inputs"]

Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

_BATCH, _EPOCHS, _PATIENCE = 128, 500, 15
_RATES = (1e-3, 1e-4)
"""Matrices are fitted twice, the second time from where the first one ended."""
_DECAYS = (0.9, 0.999)
# Keras keeps probabilities this far from 0 and 1 inside the loss, and divides by no less.
_KERAS_EPSILON = np.float32(1e-7)
_INPUT_FLOOR = np.float32(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Strengths:
    """Weights of the squared entries (k, k), or of none (k,), and of the squared intercepts."""

    kernel: Float32Array
    intercept: np.float32

    @classmethod
    def of(cls, penalty: str, lam: float, mu: float, n_classes: int) -> "Strengths":
        """ODIR spares the diagonal; in the units of the authors' code."""
        free = np.eye(n_classes) if penalty == "odir" else np.zeros((n_classes, n_classes))
        return cls((lam * (1.0 - free)).astype(np.float32), np.float32(mu))


@dataclass(frozen=True)
class AdamMap:
    """A kernel (k, k), its columns the output classes, or a diagonal (k,), and intercepts (k,)."""

    kernel: Float32Array
    intercept: Float32Array

    def scores(self, inputs: Float32Array) -> Float32Array:
        """Before the softmax."""
        product = inputs @ self.kernel if self.kernel.ndim == 2 else inputs * self.kernel
        scores: Float32Array = product + self.intercept
        return scores

    def predict_proba(self, inputs: Float32Array) -> Float32Array:
        """Probabilities (n, k)."""
        return _softmax(self.scores(inputs))

    def diagonal(self) -> "AdamMap":
        """The same with zeros off the diagonal."""
        return AdamMap(np.diag(self.kernel).copy(), self.intercept)


def log_inputs(logits: Float32Array) -> Float32Array:
    """What Dirichlet maps see: the logarithm of a softmax that subtracts one maximum for all."""
    exponentials = np.exp(logits - logits.max())
    proba = exponentials / exponentials.sum(axis=1, keepdims=True)
    inputs: Float32Array = np.log(np.clip(proba, _INPUT_FLOOR, np.float32(1.0)))
    return inputs


def fit_vector(logits: Float32Array, y: IntArray, order: int) -> AdamMap:
    """Vector scaling: slopes from one and intercepts from zero, without a penalty."""
    k = logits.shape[1]
    start = AdamMap(np.ones(k, np.float32), np.zeros(k, np.float32))
    none = Strengths(np.zeros(k, np.float32), np.float32(0.0))
    return _descend(start, logits, y, none, _RATES[0], np.random.RandomState(order))


def fit_matrix(inputs: Float32Array, y: IntArray, strengths: Strengths, order: int) -> AdamMap:
    """A matrix from the identity, with a rate and then with a tenth of it."""
    k = inputs.shape[1]
    shuffling = np.random.RandomState(order)
    found = AdamMap(np.eye(k, dtype=np.float32), np.zeros(k, np.float32))
    for rate in _RATES:
        found = _descend(found, inputs, y, strengths, rate, shuffling)
    return found


def _descend(
    start: AdamMap,
    inputs: Float32Array,
    y: IntArray,
    strengths: Strengths,
    rate: float,
    shuffling: np.random.RandomState,
) -> AdamMap:
    """Epochs until the training loss has not fallen for some; the last map is kept."""
    kernel, intercept = start.kernel.copy(), start.intercept.copy()
    current = AdamMap(kernel, intercept)
    steps = (_Steps(kernel), _Steps(intercept))
    rows, best, waited = np.arange(len(y)), np.inf, 0
    for _ in range(_EPOCHS):
        shuffling.shuffle(rows)
        total = 0.0
        for first in range(0, len(rows), _BATCH):
            batch = rows[first : first + _BATCH]
            loss, gradients = _loss_and_gradients(current, inputs[batch], y[batch], strengths)
            total += loss * len(batch)
            for own, gradient in zip(steps, gradients, strict=True):
                own.take(gradient, rate)
        # In the mean over the rows, as the training tells it.
        if total / len(rows) < best:
            best, waited = total / len(rows), 0
        else:
            waited += 1
            if waited >= _PATIENCE:
                break
    return current


class _Steps:
    """Adam's running means of one array, which its steps change in place."""

    def __init__(self, values: Float32Array) -> None:
        self._values = values
        self._mean, self._square = np.zeros_like(values), np.zeros_like(values)
        self._count = 0

    def take(self, gradient: Float32Array, rate: float) -> None:
        """One step."""
        self._count += 1
        first, second = _DECAYS
        scale = rate * np.sqrt(1.0 - second**self._count) / (1.0 - first**self._count)
        self._mean *= np.float32(first)
        self._mean += np.float32(1.0 - first) * gradient
        self._square *= np.float32(second)
        self._square += np.float32(1.0 - second) * gradient * gradient
        self._values -= np.float32(scale) * self._mean / (np.sqrt(self._square) + _KERAS_EPSILON)


def _loss_and_gradients(
    current: AdamMap, inputs: Float32Array, y: IntArray, strengths: Strengths
) -> tuple[float, tuple[Float32Array, Float32Array]]:
    """The penalised mean loss of a batch, with clipped probabilities that carry no gradient."""
    kernel, intercept = current.kernel, current.intercept
    n = np.arange(len(y))
    proba = current.predict_proba(inputs)
    clipped = np.clip(proba, _KERAS_EPSILON, np.float32(1.0) - _KERAS_EPSILON)
    shares = clipped / clipped.sum(axis=1, keepdims=True)
    data = float(-np.log(shares[n, y]).mean())
    shares[n, y] -= np.float32(1.0)
    inner = shares * (clipped == proba)
    outer = (inner - proba * inner.sum(axis=1, keepdims=True)) / np.float32(len(y))
    by_kernel = inputs.T @ outer if kernel.ndim == 2 else (inputs * outer).sum(axis=0)
    weighted = strengths.kernel * kernel
    penalty = float((weighted * kernel).sum() + strengths.intercept * (intercept**2).sum())
    gradients = (
        by_kernel + np.float32(2.0) * weighted,
        outer.sum(axis=0) + np.float32(2.0) * strengths.intercept * intercept,
    )
    return data + penalty, gradients


def _softmax(scores: Float32Array) -> Float32Array:
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    proba: Float32Array = exponentials / exponentials.sum(axis=1, keepdims=True)
    return proba
