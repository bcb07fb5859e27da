"""betacal: one column of scores, of two classes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from betacal import BetaCalibration

__all__ = ["CALIBRATORS", "NOT_OFFERED", "fit", "predict"]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "BetaCalibration": lambda classes: BetaCalibration(parameters="abm"),
}
NOT_OFFERED = {
    "weights": 'the documentation of `fit`: "Currently, no sample weighting is done by the models"',
    "logits": "takes probabilities",
    "n < k": "takes two classes",
    "checks": "takes one column of scores, which the checks never feed",
}


def second(P: Any) -> Any:
    """The column of the second class, of an array or a frame."""
    return P.iloc[:, 1] if hasattr(P, "iloc") else P[:, 1]


def fit(model: Any, P: Any, y: Any) -> Any:
    """Fitted to the second column."""
    return model.fit(second(P), y)


def predict(model: Any, P: Any) -> Any:
    """What it says of the second class, and the rest for the first."""
    q = model.predict(second(P))
    return np.column_stack([1 - q, q])
