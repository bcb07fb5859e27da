"""The layer of a calibrator: its map, run with the operations of Keras.

Importing this file imports Keras: only `_keras` does, when it is asked to, and Keras itself when it
reads a model with such a layer.
"""

from typing import Any

import keras
import numpy as np

from dircal.export._evaluate import evaluate_with
from dircal.export._fitted import check_fitted
from dircal.export._single import single_expression
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
        fitted = check_fitted(from_bytes(calibrator.encode()))
        single = self.compute_dtype == "float32"
        self._source = calibrator
        self._expression = single_expression(fitted, _REMEDY) if single else fitted.expression()
        self.columns, self.classes = fitted.columns, fitted.classes

    def __call__(self, scores: Any, *args: Any, **options: Any) -> Any:
        """The layer at work; numbers of NumPy keep their digits, where Keras would round them."""
        if isinstance(scores, np.ndarray):
            scores = keras.ops.convert_to_tensor(scores, dtype=self.compute_dtype)
        return super().__call__(scores, *args, **options)

    def call(self, scores: Any) -> Any:
        """Calibrated probabilities (n, n_classes) of scores (n, n_features)."""
        return evaluate_with(keras.ops, self._expression, scores, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """As many rows, and a column for each class."""
        return (input_shape[0], len(self.classes))

    def get_config(self) -> dict[str, Any]:
        """What the layer can be made from again."""
        return {**super().get_config(), "calibrator": self._source}
