"""Expressions run with NumPy, in either precision."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dircal.export._expression import (
    Binary,
    Choose,
    Columns,
    Constant,
    Expression,
    Input,
    Join,
    Linear,
    LogSoftmax,
    Lookup,
    RowMax,
    RowSum,
    Softmax,
    Unary,
    in_precision,
)

__all__ = ["evaluate"]

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


def evaluate(expression: Expression, X: _Floats, dtype: npt.DTypeLike = np.float64) -> _Floats:
    """What the expression makes of ``X`` (n, width), with numbers of this type only."""
    with np.errstate(over="ignore"):
        return _Run(np.asarray(X, dtype=dtype)).of(expression)


class _Run:
    """Remembers what was computed."""

    def __init__(self, X: _Floats) -> None:
        self.X = X
        self.known: dict[int, _Floats] = {}

    def of(self, e: Expression) -> _Floats:
        """Value (n, w) of an expression."""
        if id(e) not in self.known:
            self.known[id(e)] = self._compute(e)
        return self.known[id(e)]

    def _compute(self, e: Expression) -> _Floats:
        result: _Floats
        match e:
            case Input():
                result = self.X
            case Constant(values):
                result = self._cast(values)[None, :]
            case Columns(x, indices):
                result = self.of(x)[:, list(indices)]
            case Join(parts):
                result = np.concatenate([self.of(part) for part in parts], axis=1)
            case Unary(name, x):
                result = _UNARY[name](self.of(x))
            case Binary(name, x, y):
                result = _BINARY[name](self.of(x), self.of(y))
            case Choose(low, high, yes, no):
                result = np.where(self.of(low) < self.of(high), self.of(yes), self.of(no))
            case Linear(x, matrix, bias):
                result = self.of(x) @ self._cast(matrix).T + self._cast(bias)
            case RowSum(x, _):
                result = np.cumsum(self.of(x), axis=1)[:, -1:]
            case RowMax(x):
                result = self.of(x).max(axis=1, keepdims=True)
            case Softmax(x):
                odds = np.exp(self.of(x) - self.of(x).max(axis=1, keepdims=True))
                result = odds / odds.sum(axis=1, keepdims=True)
            case LogSoftmax(x):
                below = self.of(x) - self.of(x).max(axis=1, keepdims=True)
                result = below - np.log(np.exp(below).sum(axis=1, keepdims=True))
            case Lookup(x, edges, at_edge, table):
                side: Any = "right" if at_edge == "above" else "left"
                places = np.searchsorted(self._cast(edges), self.of(x)[:, 0], side=side)
                result = self._cast(table)[places]
            case _:
                raise TypeError(f"{type(e).__name__} has no form in NumPy")
        return result

    def _cast(self, values: _Floats) -> _Floats:
        return in_precision(values, self.X.dtype)
