"""splinecalib: `fit` and `calibrate`."""

from collections.abc import Callable
from typing import Any

from splinecalib import SplineCalib

__all__ = ["CALIBRATORS", "NOT_OFFERED", "fit", "predict"]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {"SplineCalib": lambda classes: SplineCalib()}
_INTEGERS = 'the documentation of `fit`: "Values must be integers between 0 and n_classes-1"'
NOT_OFFERED = {
    "weights": "`fit` has no weights",
    "text": _INTEGERS,
    "numbers": _INTEGERS,
    "logits": "takes probabilities",
    "clone": "no estimator of scikit-learn",
    "checks": "no estimator of scikit-learn",
}


def fit(model: Any, P: Any, y: Any) -> Any:
    """Fitted to probabilities."""
    model.fit(P, y)
    return model


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.calibrate(P)
