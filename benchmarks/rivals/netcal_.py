"""netcal: `fit` and `transform` on arrays of confidences."""

from collections.abc import Callable
from typing import Any

from netcal.binning import BBQ, HistogramBinning, IsotonicRegression
from netcal.scaling import BetaCalibration, LogisticCalibration, TemperatureScaling

__all__ = ["CALIBRATORS", "NOT_OFFERED", "fit", "predict"]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "TemperatureScaling": lambda classes: TemperatureScaling(),
    "LogisticCalibration": lambda classes: LogisticCalibration(),
    "BetaCalibration": lambda classes: BetaCalibration(),
    "HistogramBinning": lambda classes: HistogramBinning(),
    "IsotonicRegression": lambda classes: IsotonicRegression(),
    "BBQ": lambda classes: BBQ(),
}
NOT_OFFERED = {
    "weights": "`fit(X, y)` has no weights",
    "logits": "`fit` asks for confidences between 0 and 1",
    "pandas": "the documentation of `fit` asks for NumPy arrays",
}


def fit(model: Any, P: Any, y: Any) -> Any:
    """As in the README."""
    model.fit(P, y)
    return model


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.transform(P)
