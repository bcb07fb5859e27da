"""Expressions run with NumPy, and whether a map is exact enough in single precision."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray
from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression, in_precision, walk
from dircal.export._fitted import Fitted

__all__ = ["evaluate", "single_expression"]

_Floats = npt.NDArray[Any]
_UNARY = {"log": np.log, "exp": np.exp, "abs": np.abs}
_BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
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
    with np.errstate(over="ignore"):
        return _Run(np.asarray(X, dtype=dtype)).of(expression)


class _Run(AbstractTarget[_Floats]):
    """Values (n, w) of expressions."""

    def __init__(self, X: _Floats) -> None:
        super().__init__()
        self.X = X

    def _make(self, e: Expression) -> _Floats:
        result: _Floats
        match e:
            case expr.Input():
                result = self.X
            case expr.Constant(values):
                result = self._cast(values)[None, :]
            case expr.Columns(x, indices):
                result = self.of(x)[:, list(indices)]
            case expr.Join(parts):
                result = np.concatenate([self.of(part) for part in parts], axis=1)
            case expr.Unary(name, x):
                result = _UNARY[name](self.of(x))
            case expr.Binary(name, x, y):
                result = _BINARY[name](self.of(x), self.of(y))
            case expr.Choose(low, high, yes, no):
                result = np.where(self.of(low) < self.of(high), self.of(yes), self.of(no))
            case expr.Linear(x, matrix, bias):
                result = self.of(x) @ self._cast(matrix.values).T + self.of(bias)
            case expr.RowSum(x, _):
                result = np.cumsum(self.of(x), axis=1)[:, -1:]
            case expr.RowMax(x):
                result = self.of(x).max(axis=1, keepdims=True)
            case expr.Softmax(x):
                odds = np.exp(self.of(x) - self.of(x).max(axis=1, keepdims=True))
                result = odds / odds.sum(axis=1, keepdims=True)
            case expr.Lookup(x, edges, at_edge, table):
                side: Any = "right" if at_edge == "above" else "left"
                places = np.searchsorted(self._cast(edges), self.of(x)[:, 0], side=side)
                result = self._cast(table)[places]
            case _:
                raise TypeError(f"{type(e).__name__} has no form in NumPy")
        return result

    def _cast(self, values: _Floats) -> _Floats:
        return in_precision(values, np.finfo(self.X.dtype)).astype(self.X.dtype)


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
