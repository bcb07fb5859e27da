"""dirichletcal, of the authors of Dirichlet calibration: `fit` and `predict_proba`."""

from collections.abc import Callable
from typing import Any

from dirichletcal.calib.fulldirichlet import FullDirichletCalibrator

__all__ = ["CALIBRATORS", "NOT_OFFERED", "fit", "predict"]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "FullDirichletCalibrator": lambda classes: FullDirichletCalibrator(),
    "the same with ODIR": lambda classes: FullDirichletCalibrator(reg_lambda=1e-2, reg_mu=1e-2),
}
NOT_OFFERED = {
    "weights": "`fit(X, y)` has no weights",
    "logits": "takes probabilities",
}


def fit(model: Any, P: Any, y: Any) -> Any:
    """Fitted to probabilities."""
    return model.fit(P, y)


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return model.predict_proba(P)
