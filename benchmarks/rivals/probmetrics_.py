"""probmetrics: `fit` and `predict_proba` on arrays, `fit_torch` on logits."""

from collections.abc import Callable
from typing import Any

import torch
from probmetrics.calibrators import (
    SVSCalibrator,
    TemperatureScalingCalibrator,
    VectorScalingCalibrator,
    get_calibrator,
)
from probmetrics.distributions import CategoricalLogits

__all__ = [
    "CALIBRATORS",
    "LOGITS",
    "NOT_OFFERED",
    "fit",
    "fit_logits",
    "predict",
    "predict_logits",
]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "logistic (SMS)": lambda classes: get_calibrator("logistic"),
    "SVSCalibrator": lambda classes: SVSCalibrator(),
    "VectorScalingCalibrator": lambda classes: VectorScalingCalibrator(),
    "TemperatureScalingCalibrator": lambda classes: TemperatureScalingCalibrator(),
    "ts-mix": lambda classes: get_calibrator("ts-mix"),
    "isotonic": lambda classes: get_calibrator("isotonic"),
}
LOGITS = CALIBRATORS
NOT_OFFERED = {
    "weights": "`fit(X, y)` has no weights",
    "pandas": "the README and the annotations of `fit` ask for NumPy arrays",
}


def fit(model: Any, P: Any, y: Any) -> Any:
    """As under "Usage with numpy" in the README."""
    return model.fit(P, y)


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.predict_proba(P)


def fit_logits(model: Any, logits: Any, y: Any) -> Any:
    """As under "Usage with PyTorch" in the README: "if you have logits, you can use ..."."""
    return model.fit_torch(CategoricalLogits(torch.as_tensor(logits)), torch.as_tensor(y))


def predict_logits(model: Any, logits: Any) -> Any:
    """Calibrated probabilities."""
    return model.predict_proba_torch(CategoricalLogits(torch.as_tensor(logits))).get_probs().numpy()
