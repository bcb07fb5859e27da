"""dircal itself. A class without rows can only be known by `classes`, so they are given."""

from collections.abc import Callable
from typing import Any

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    DirichletCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    TemperatureScaling,
    VectorScaling,
)

__all__ = ["CALIBRATORS", "LOGITS", "NOT_OFFERED", "fit", "predict"]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "AutoCalibrator": lambda classes: AutoCalibrator(classes=classes),
    "BayesianDirichletCalibrator": lambda classes: BayesianDirichletCalibrator(classes=classes),
    "DirichletCalibrator": lambda classes: DirichletCalibrator(classes=classes),
    "MatrixScaling": lambda classes: MatrixScaling(classes=classes),
    "VectorScaling": lambda classes: VectorScaling(classes=classes),
    "TemperatureScaling": lambda classes: TemperatureScaling(classes=classes),
    "one-vs-rest beta": lambda classes: OneVsRestCalibrator(BetaCalibrator(), classes=classes),
    "one-vs-rest isotonic": lambda classes: OneVsRestCalibrator(
        IsotonicCalibrator(), classes=classes
    ),
}
LOGITS: dict[str, Callable[[Any], Any]] = {
    "AutoCalibrator": lambda classes: AutoCalibrator(input_scale="logit", classes=classes),
    "BayesianDirichletCalibrator": lambda classes: BayesianDirichletCalibrator(
        input_scale="logit", classes=classes
    ),
    "DirichletCalibrator": lambda classes: DirichletCalibrator(
        input_scale="logit", classes=classes
    ),
    "MatrixScaling": lambda classes: MatrixScaling(input_scale="logit", classes=classes),
    "VectorScaling": lambda classes: VectorScaling(input_scale="logit", classes=classes),
    "TemperatureScaling": lambda classes: TemperatureScaling(input_scale="logit", classes=classes),
    "one-vs-rest beta": lambda classes: OneVsRestCalibrator(
        BetaCalibrator(input_scale="logit"), classes=classes
    ),
    "one-vs-rest isotonic": lambda classes: OneVsRestCalibrator(
        IsotonicCalibrator(input_scale="logit"), classes=classes
    ),
}
NOT_OFFERED: dict[str, str] = {}


def fit(model: Any, P: Any, y: Any, weight: Any = None) -> Any:
    """Fitted to probabilities or logits."""
    return model.fit(P, y, sample_weight=weight)


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.predict_proba(P)
