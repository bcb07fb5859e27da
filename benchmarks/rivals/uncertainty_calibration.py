"""uncertainty-calibration: `train_calibration` and `calibrate`."""

from collections.abc import Callable
from typing import Any

import calibration

__all__ = ["CALIBRATORS", "NOT_OFFERED", "fit", "predict"]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "PlattBinnerMarginalCalibrator": lambda classes: calibration.PlattBinnerMarginalCalibrator,
    "HistogramMarginalCalibrator": lambda classes: calibration.HistogramMarginalCalibrator,
}
NOT_OFFERED = {
    "weights": "there are no weights",
    "logits": "takes probabilities",
    "clone": "no estimator of scikit-learn",
    "checks": "no estimator of scikit-learn",
}


def fit(model: Any, P: Any, y: Any) -> Any:
    """As in the README: made for so many rows, then trained on them."""
    calibrator = model(len(P), num_bins=10)
    calibrator.train_calibration(P, y)
    return calibrator


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.calibrate(P)
