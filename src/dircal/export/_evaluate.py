"""Expressions run with NumPy, in either precision, or with what has the same functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal.export import _expression as expr
from dircal.export._expression import AbstractTarget, Expression, in_precision

__all__ = ["evaluate", "evaluate_with"]

_Floats = npt.NDArray[Any]
_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
}


def evaluate(expression: Expression, X: _Floats, dtype: npt.DTypeLike = np.float64) -> _Floats:
    """What the expression makes of ``X`` (n, width), with numbers of this type only."""
    with np.errstate(over="ignore"):
        run = _Run(np, np.asarray(X, dtype=dtype), lambda values: in_precision(values, dtype))
        result: _Floats = run.of(expression)
        return result


def evaluate_with(ops: Any, expression: Expression, x: Any, dtype: str) -> Any:
    """The same of a tensor ``x`` of this type, by functions ``ops`` with the names of NumPy."""

    def cast(values: _Floats) -> Any:
        return ops.convert_to_tensor(in_precision(values, dtype), dtype=dtype)

    return _Run(ops, x, cast).of(expression)


class _Run(AbstractTarget[Any]):
    """Values (n, w) of expressions."""

    def __init__(self, ops: Any, X: Any, cast: Callable[[_Floats], Any]) -> None:
        super().__init__()
        self.ops, self.X, self._cast = ops, X, cast

    def _make(self, e: Expression) -> Any:
        ops = self.ops
        match e:
            case expr.Input():
                return self.X
            case expr.Constant(values):
                return self._cast(values[None, :])
            case expr.Columns(x, indices):
                return ops.take(self.of(x), np.array(indices), axis=1)
            case expr.Join(parts):
                return ops.concatenate([self.of(part) for part in parts], axis=1)
            case expr.Unary(name, x):
                return getattr(ops, name)(self.of(x))
            case expr.Binary(name, x, y):
                return getattr(ops, _BINARY[name])(self.of(x), self.of(y))
            case expr.Choose(low, high, yes, no):
                return ops.where(self.of(low) < self.of(high), self.of(yes), self.of(no))
            case expr.Linear(x, matrix, bias):
                return ops.matmul(self.of(x), self._cast(matrix.T)) + self._cast(bias)
            case expr.RowSum(x, _):
                # Keras would sum in single precision unless told otherwise.
                return ops.cumsum(self.of(x), axis=1, dtype=self.of(x).dtype)[:, -1:]
            case expr.RowMax(x):
                return ops.max(self.of(x), axis=1, keepdims=True)
            case expr.Softmax(x):
                odds = ops.exp(self.of(x) - ops.max(self.of(x), axis=1, keepdims=True))
                return odds / ops.sum(odds, axis=1, keepdims=True)
            case expr.Lookup(x, edges, at_edge, table):
                side = "right" if at_edge == "above" else "left"
                places = ops.searchsorted(self._cast(edges), self.of(x)[:, 0], side=side)
                return ops.take(self._cast(table), places, axis=0)
            case _:
                raise TypeError(f"{type(e).__name__} has no form in NumPy")
