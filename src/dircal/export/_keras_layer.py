"""The layer of a calibrator: its map, run with the operations of Keras.

Importing this file imports Keras: only `_keras` does, when it is asked to.
"""

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import keras
import numpy as np
from keras import ops

from dircal._typing import FloatArray
from dircal.export import _expression as expr
from dircal.export._evaluate import single_expression
from dircal.export._expression import AbstractTarget, Expression, in_precision
from dircal.export._fitted import check_fitted
from dircal.io import from_bytes

__all__ = ["CalibratorLayer"]

_REMEDY = "Use dtype='float64': the layer takes float32 as well, and computes in float64."
_UNARY = {"log": ops.log, "exp": ops.exp, "abs": ops.abs}
# Outside TensorFlow the functions of Keras that look for the type of their result, `maximum`,
# `matmul` and `cumsum` among them, take double precision down to single. Operators do not, nor does
# `where`.
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "max": lambda x, y: ops.where(x < y, y, x),
    "min": lambda x, y: ops.where(y < x, y, x),
}


@keras.saving.register_keras_serializable(package="dircal")
class CalibratorLayer(keras.Layer):  # type: ignore[misc]
    """A map from scores to probabilities; ``calibrator`` is a fitted one as a file holds it.

    ``classes`` are the labels of the columns that come out, ``columns`` those of what goes in.
    """

    def __init__(self, calibrator: str, **options: Any) -> None:
        super().__init__(**{"dtype": "float64", "trainable": False, **options})
        _check_precision(self.compute_dtype)
        fitted = check_fitted(from_bytes(calibrator.encode()))
        single = self.compute_dtype == "float32"
        self._source = calibrator
        self._expression = single_expression(fitted, _REMEDY) if single else fitted.expression()
        self.columns, self.classes = fitted.columns, fitted.classes

    def __call__(self, scores: Any, *args: Any, **options: Any) -> Any:
        """The layer at work; numbers of NumPy keep their digits, where Keras would round them."""
        if isinstance(scores, np.ndarray):
            scores = ops.convert_to_tensor(scores, dtype=self.compute_dtype)
        return super().__call__(scores, *args, **options)

    def call(self, scores: Any) -> Any:
        """Calibrated probabilities (n, n_classes) of scores (n, n_features)."""
        return _Run(scores, self.compute_dtype).of(self._expression)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """As many rows, and a column for each class."""
        return (input_shape[0], len(self.classes))

    def get_config(self) -> dict[str, Any]:
        """What the layer can be made from again."""
        return {**super().get_config(), "calibrator": self._source}


def _check_precision(dtype: str) -> None:
    """Refuse double precision where the backend has none."""
    one = ops.convert_to_tensor(np.ones(1), dtype=dtype)
    found = keras.backend.standardize_dtype(ops.log(ops.where(one < one, one, one)).dtype)
    if found != dtype:
        raise ValueError(
            f"`dtype` is {dtype!r}, and Keras computes in {found} on its backend "
            f"{keras.backend.backend()}. Use dtype='float32', or on JAX set the environment "
            "variable JAX_ENABLE_X64 to 1 before it is imported."
        )


class _Run(AbstractTarget[Any]):
    """Tensors (n, w) of expressions, all of one type."""

    def __init__(self, scores: Any, dtype: str) -> None:
        super().__init__()
        self._scores, self._dtype = scores, dtype

    def _make(self, e: Expression) -> Any:
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
                return _UNARY[name](self.of(x))
            case expr.Binary(name, x, y):
                return _BINARY[name](self.of(x), self.of(y))
            case expr.Choose(low, high, yes, no):
                return ops.where(self.of(low) < self.of(high), self.of(yes), self.of(no))
            case expr.Linear(x, matrix, bias):
                return self.of(x) @ self._constant(matrix.values.T) + self.of(bias)
            case expr.RowSum(x, in_order):
                return _sum_in_order(self.of(x), x.width) if in_order else _sum(self.of(x))
            case expr.RowMax(x):
                return ops.max(self.of(x), axis=1, keepdims=True)
            case expr.Softmax(x):
                odds = ops.exp(self.of(x) - ops.max(self.of(x), axis=1, keepdims=True))
                return odds / _sum(odds)
            case expr.Lookup(x, edges, at_edge, table):
                side = "right" if at_edge == "above" else "left"
                places = ops.searchsorted(self._constant(edges), self.of(x)[:, 0], side=side)
                return ops.take(self._constant(table), places, axis=0)
            case _:
                raise TypeError(f"{type(e).__name__} has no form in Keras")

    def _constant(self, values: FloatArray) -> Any:
        fitting = in_precision(values, np.finfo(self._dtype))
        return ops.convert_to_tensor(fitting.astype(self._dtype), dtype=self._dtype)


def _sum(x: Any) -> Any:
    return ops.sum(x, axis=1, keepdims=True)


def _sum_in_order(x: Any, width: int) -> Any:
    """From the first column to the last, which running sums of a backend need not do."""
    return reduce(operator.add, (x[:, j : j + 1] for j in range(width)))
