"""Expressions run with NumPy, in either precision."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression, in_precision

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
