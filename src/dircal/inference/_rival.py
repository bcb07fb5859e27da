"""Classifiers of other libraries, as calibrators in a comparison."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from dircal._typing import FloatArray, InputScale
from dircal.calibrators import FitWarning
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.metrics import ReadProbabilities
from dircal.tables import ArrayRows

__all__ = ["Rival", "is_rival"]


def is_rival(value: object) -> bool:
    """Whether it can be fitted on probabilities and gives probabilities."""
    needed = ("fit", "predict_proba", "get_params")
    return not isinstance(value, type) and all(hasattr(value, name) for name in needed)


class Rival(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An ``estimator`` with `fit` and `predict_proba`, fitted on probabilities and labels.

    It reads the probabilities in the sorted order of the classes; what it gives for a class that
    it has not seen is zero.
    """

    input_scale: ClassVar[InputScale] = "probability"
    _labels_of_columns: ClassVar[None] = None

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def _fit_checked(self, data: ArrayRows) -> Self:
        if data.targets is not None:
            raise ValueError(
                f"`y` holds soft labels, but `calibrators` holds {type(self.estimator).__name__} "
                "of another library, which learns from one label for each row. Leave it out, or "
                "pass one label for each row."
            )
        self.estimator_ = clone(self.estimator).fit(_features(data), data.classes[data.labels])
        return self

    def _fit_warnings(self) -> list[FitWarning]:
        """None: it warns for itself."""
        return []

    def _predict_checked(self, data: ArrayRows) -> FloatArray:
        limits = INFERENCE_LIMITS.get()
        given = np.asarray(self.estimator_.predict_proba(_features(data)), dtype=np.float64)
        name, seen = type(self.estimator).__name__, np.asarray(self.estimator_.classes_)
        if given.shape != (len(data.labels), len(seen)):
            raise ValueError(
                f"`calibrators` holds {name}, whose predict_proba gives an array of shape "
                f"{given.shape}; it must be {(len(data.labels), len(seen))}, a column for each "
                "class that it was fitted on."
            )
        sums = given.sum(axis=1)
        if not (np.abs(sums - 1.0) < limits.max_row_sum_error).all() or given.min() < 0.0:
            row = int(
                np.argmax(
                    ~(np.abs(sums - 1.0) < limits.max_row_sum_error) | (given < 0.0).any(axis=1)
                )
            )
            raise ValueError(
                f"`calibrators` holds {name}, whose predict_proba gives no probabilities: row "
                f"{row} of a fold is {given[row]}. Pass an estimator whose rows are not negative "
                "and sum to one."
            )
        proba = np.zeros((len(given), len(data.classes)))
        proba[:, np.searchsorted(data.classes, seen)] = given / sums[:, None]
        return proba


def _features(data: ArrayRows) -> FloatArray:
    """Probabilities (n, k) in the order of the classes."""
    read = ReadProbabilities.of(data.column_classes, data.matrix.dtype)
    return np.ascontiguousarray(read(data.inputs).T)
