"""scikit-learn: `CalibratedClassifierCV` around a `FrozenEstimator`.

It calibrates classifiers, not probabilities: a classifier that says what it is given stands in for
one. Its checks are made of a classifier of scikit-learn, as in scikit-learn's own tests.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

__all__ = ["CALIBRATORS", "LOGITS", "NOT_OFFERED", "fit", "predict"]


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose probabilities are its input."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes
        self.classes_ = np.asarray(classes)

    def fit(self, X: Any, y: Any) -> "Given":
        """Nothing to learn."""
        return self

    def predict(self, X: Any) -> Any:
        """The class of the largest column."""
        return self.classes_[np.asarray(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """The input."""
        return np.asarray(X)


class GivenLogits(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier whose decision function is its input."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes
        self.classes_ = np.asarray(classes)

    def fit(self, X: Any, y: Any) -> "GivenLogits":
        """Nothing to learn."""
        return self

    def predict(self, X: Any) -> Any:
        """The class of the largest column."""
        return self.classes_[np.asarray(X).argmax(axis=1)]

    def decision_function(self, X: Any) -> Any:
        """The input."""
        return np.asarray(X)


def calibrated(given: type, classes: Any, method: str) -> CalibratedClassifierCV:
    """The calibrator of a frozen classifier."""
    if classes is None:
        return CalibratedClassifierCV(LogisticRegression(), method=method)
    return CalibratedClassifierCV(FrozenEstimator(given(classes)), method=method)


CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": lambda classes: calibrated(Given, classes, "sigmoid"),
    "isotonic": lambda classes: calibrated(Given, classes, "isotonic"),
    "temperature": lambda classes: calibrated(Given, classes, "temperature"),
}
LOGITS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": lambda classes: calibrated(GivenLogits, classes, "sigmoid"),
    "isotonic": lambda classes: calibrated(GivenLogits, classes, "isotonic"),
    "temperature": lambda classes: calibrated(GivenLogits, classes, "temperature"),
}
NOT_OFFERED: dict[str, str] = {}


def fit(model: Any, P: Any, y: Any, weight: Any = None) -> Any:
    """Fitted to what the classifier says."""
    return model.fit(P, y, sample_weight=weight)


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.predict_proba(P)
