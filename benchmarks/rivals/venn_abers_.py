"""venn-abers in its manual form, where probabilities are given; checks with a classifier inside.

Its class calls that form "binary only", its `predict_proba` tells how it takes several classes by
`va_type`, and so it does.
"""

from collections.abc import Callable
from typing import Any

from sklearn.naive_bayes import GaussianNB
from venn_abers import VennAbersCalibrator

__all__ = ["CALIBRATORS", "NOT_OFFERED", "fit", "predict"]


def calibrator(classes: Any) -> Any:
    """With a classifier inside as the README has it, for the checks."""
    if classes is None:
        return VennAbersCalibrator(
            estimator=GaussianNB(), inductive=True, cal_size=0.2, random_state=101
        )
    return VennAbersCalibrator()


CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "VennAbersCalibrator": lambda classes: calibrator(classes),
}
NOT_OFFERED = {
    "weights": "there are no weights",
    "logits": "takes probabilities",
    "pickle": "nothing is fitted: the calibration rows are given with every prediction",
    "clone": "nothing is fitted: the calibration rows are given with every prediction",
}


def fit(model: Any, P: Any, y: Any) -> Any:
    """Kept: the manual form takes the calibration rows when it predicts."""
    return model, P, y


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    calibrator, p_cal, y_cal = model
    return calibrator.predict_proba(p_cal=p_cal, y_cal=y_cal, p_test=P)
