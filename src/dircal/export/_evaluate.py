"""Expressions run with arrays, and whether a map is exact enough in single precision."""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray
from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression, in_precision, walk
from dircal.export._fitted import Fitted

__all__ = ["Arrays", "evaluate", "single_expression"]

_Floats = npt.NDArray[Any]
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
# Sums of products of logits this large, and of moderate weights, are finite in single precision.
_LARGEST_IN_SINGLE = 1e30
# Half of what is promised: the rows that are tried are hard ones, but not all there are.
_LARGEST_ERROR = 5e-6
# What is promised holds for probabilities and logits within these.
_SMALLEST_PROBABILITY = 1e-30
_LARGEST_LOGIT = 50.0
_BISECTIONS = 20
# Multiplications for each round of trying.
_WORK = 3e7


def evaluate(expression: Expression, X: _Floats, dtype: npt.DTypeLike = np.float64) -> _Floats:
    """What the expression makes of ``X`` (n, width), with numbers of this type only."""

    def constant(values: FloatArray) -> _Floats:
        return in_precision(values, np.finfo(np.dtype(dtype))).astype(dtype)

    with np.errstate(over="ignore"):
        result: _Floats = Arrays(np.asarray(X, dtype=dtype), np, constant).of(expression)
    return result


class Arrays(AbstractTarget[Any]):
    """Arrays (n, w) of expressions, with ``ops`` that has functions of NumPy: NumPy or Keras.

    ``constant`` makes an array of numbers, of the type that everything is computed in. Outside
    TensorFlow the functions of Keras that look for the type of their result, `maximum`, `matmul`
    and `cumsum` among them, take double precision down to single. Operators do not, nor does
    `where`.
    """

    def __init__(self, scores: Any, ops: Any, constant: Callable[[FloatArray], Any]) -> None:
        super().__init__()
        self._scores, self._ops, self._constant = scores, ops, constant

    def _make(self, e: Expression) -> Any:
        ops = self._ops
        match e:
            case expr.Input():
                return self._scores
            case expr.Constant(values):
                return self._constant(values[None, :])
            case expr.Columns(x, indices):
                return ops.take(self.of(x), np.array(indices), axis=1)
            case expr.Join(parts):
                return ops.concatenate([self.of(part) for part in parts], axis=1)
            case expr.Unary(name, x):
                return getattr(ops, name)(self.of(x))
            case expr.Binary("max", x, y):
                return ops.where(self.of(x) < self.of(y), self.of(y), self.of(x))
            case expr.Binary("min", x, y):
                return ops.where(self.of(y) < self.of(x), self.of(y), self.of(x))
            case expr.Binary(name, x, y):
                return _ARITHMETIC[name](self.of(x), self.of(y))
            case expr.Choose(low, high, yes, no):
                return ops.where(self.of(low) < self.of(high), self.of(yes), self.of(no))
            case expr.Linear(x, matrix, bias):
                return self.of(x) @ self._constant(matrix.values.T) + self.of(bias)
            case expr.RowSum(x, in_order):
                return _sum_in_order(self.of(x), x.width) if in_order else self._sum(self.of(x))
            case expr.RowMax(x):
                return ops.max(self.of(x), axis=1, keepdims=True)
            case expr.Softmax(x):
                odds = ops.exp(self.of(x) - ops.max(self.of(x), axis=1, keepdims=True))
                return odds / self._sum(odds)
            case expr.Lookup(x, edges, at_edge, table):
                side = "right" if at_edge == "above" else "left"
                places = ops.searchsorted(self._constant(edges), self.of(x)[:, 0], side=side)
                return ops.take(self._constant(table), places, axis=0)
            case _:
                raise TypeError(f"{type(e).__name__} has no form in arrays")

    def _sum(self, x: Any) -> Any:
        return self._ops.sum(x, axis=1, keepdims=True)


def _sum_in_order(x: Any, width: int) -> Any:
    """From the first column to the last, which running sums of a library need not do."""
    return reduce(operator.add, (x[:, j : j + 1] for j in range(width)))


def single_expression(fitted: Fitted, remedy: str) -> Expression:
    """The map in single precision, if it is as exact there as is promised."""
    exact, small = fitted.expression(), fitted.expression(_LARGEST_IN_SINGLE)
    if any(isinstance(e, expr.Lookup) for e in walk(exact)):
        raise ValueError(
            f"`dtype` 'float32' cannot hold the curve of this {fitted.name}: its edges are "
            f"closer together than single precision can tell scores apart. {remedy}"
        )
    rows = _hard_rows(fitted, exact)
    error = float(np.abs(evaluate(small, rows, np.float32) - evaluate(exact, rows)).max())
    if not error <= _LARGEST_ERROR:
        raise ValueError(
            f"`dtype` 'float32' is not exact enough for this {fitted.name}: its "
            f"weights are so large that probabilities would be off by {error:.1g}. {remedy}"
        )
    with np.errstate(all="ignore"):
        extreme = evaluate(small, _extreme_rows(fitted), np.float32)
    if not np.isfinite(extreme).all():
        raise ValueError(
            f"`dtype` 'float32' would overflow with the weights of this {fitted.name}. {remedy}"
        )
    return small


def _hard_rows(fitted: Fitted, exact: Expression) -> npt.NDArray[np.float32]:
    """Rows with large scores between which the map is undecided, where rounding shows most."""
    k = len(fitted.columns)
    n = int(np.clip(_WORK / (k * k + 1) / _BISECTIONS, 50, 400))
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0.0, 1.0, size=(2, n, k)) ** rng.choice([0.2, 1.0, 5.0], (2, n, 1))
    low, high = np.zeros((2, n, 1))
    high += 1.0
    winner = evaluate(exact, _as_rows(first, fitted)).argmax(axis=1)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        between = _as_rows(first + middle * (second - first), fitted)
        same = (evaluate(exact, between).argmax(axis=1) == winner)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    undecided = _as_rows(first + low * (second - first), fitted)
    return np.vstack([undecided, _as_rows(first, fitted)]).astype(np.float32)


def _as_rows(places: FloatArray, fitted: Fitted) -> FloatArray:
    """Rows of the promised range, from numbers between 0 and 1."""
    if fitted.input_scale == "logit":
        return _LARGEST_LOGIT * (2.0 * places - 1.0)
    proba: FloatArray = np.exp(places * np.log(_SMALLEST_PROBABILITY))
    if len(fitted.columns) == 1:
        return proba
    rows: FloatArray = proba / proba.sum(axis=1, keepdims=True)
    return np.maximum(rows, _SMALLEST_PROBABILITY)


def _extreme_rows(fitted: Fitted) -> npt.NDArray[np.float32]:
    """Ones and zeros, or the largest logits there are, in a few mixtures."""
    k = len(fitted.columns)
    signs = np.random.default_rng(0).choice([0.0, 1.0], size=(20, k))
    if fitted.input_scale == "logit":
        return np.float32(np.finfo(np.float32).max) * (2 * signs - 1).astype(np.float32)
    if k == 1:
        return signs.astype(np.float32)
    signs[:, 0] = 1.0
    rows: FloatArray = signs / signs.sum(axis=1, keepdims=True)
    return rows.astype(np.float32)
