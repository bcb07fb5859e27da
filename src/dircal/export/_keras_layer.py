"""The layer of a calibrator: its map, run with the operations of Keras.

Importing this file imports Keras: only `_keras` does, when it is asked to.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from dircal._typing import FloatArray
from dircal.export._evaluate import Arrays, single_expression
from dircal.export._expression import in_precision
from dircal.export._fitted import check_fitted
from dircal.io import from_bytes

__all__ = ["CalibratorLayer"]

_REMEDY = "Use dtype='float64': the layer takes float32 as well, and computes in float64."


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
        return Arrays(scores, ops, self._constant).of(self._expression)

    def _constant(self, values: FloatArray) -> Any:
        fitting = in_precision(values, np.finfo(self.compute_dtype))
        return ops.convert_to_tensor(fitting.astype(self.compute_dtype), dtype=self.compute_dtype)

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
