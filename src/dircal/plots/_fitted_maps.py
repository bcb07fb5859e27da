"""What a fitted calibrator tells a picture: its classes, its map, its parameters."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.simplex import softmax
from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.maps import AbstractParameters, CanonicalParameters

__all__ = [
    "apply_map",
    "canonical_of",
    "check_map",
    "classes_of",
    "probabilities_of",
    "temperature_of",
]


def check_map(name: str, calibrator: Any) -> None:
    """Refuse what is no fitted calibrator and no parameters."""
    if isinstance(calibrator, AbstractParameters):
        return
    if not isinstance(calibrator, AbstractCalibrator):
        raise ValueError(
            f"`{name}` must be a fitted calibrator or parameters; got {calibrator!r}. "
            "Pass what `fit` returned, or for example CanonicalParameters(A, c)."
        )
    check_is_fitted(calibrator)


def classes_of(calibrator: Any) -> LabelArray:
    """Labels in sorted order; those of parameters are 0..k-1."""
    if isinstance(calibrator, AbstractParameters):
        return np.arange(calibrator.n_classes)
    return np.asarray(calibrator.classes_)


def canonical_of(calibrator: Any) -> CanonicalParameters | None:
    """The canonical parameters, or None where a map has none."""
    if isinstance(calibrator, AbstractParameters):
        return calibrator.to_canonical()
    try:
        parameters: CanonicalParameters = calibrator.canonical_parameters()
    except (AttributeError, ValueError):
        # Maps of other families, and averages of maps, say so by an error.
        return None
    return parameters


def temperature_of(calibrator: Any) -> float | None:
    """That of the best temperature map of the fit; None where it is not known."""
    try:
        return float(calibrator.explain().comparison.temperature)
    except (AttributeError, ValueError):
        # Parameters, maps of other families, and averages of maps have none.
        return None


def apply_map(calibrator: Any, q: FloatArray) -> FloatArray:
    """Images of rows of probabilities whose columns are in the sorted order of the classes."""
    if isinstance(calibrator, AbstractParameters):
        return calibrator.predict_proba(q)
    columns = np.searchsorted(calibrator.classes_, calibrator.column_classes_)
    inputs = q[:, columns]
    if calibrator.input_scale == "logit":
        inputs = np.log(np.maximum(inputs, np.finfo(np.float64).tiny))
    if calibrator.n_features_in_ == 1:
        inputs = inputs[:, 1] if calibrator.input_scale == "probability" else np.diff(inputs)[:, 0]
    image: FloatArray = calibrator.predict_proba(inputs)
    return image


def probabilities_of(calibrator: Any, X: ArrayLike) -> FloatArray:
    """Rows before calibration as probabilities (n, k), in the sorted order of the classes."""
    inputs, column_classes = calibrator._check_scores(X)
    scores = np.asarray(inputs, dtype=np.float64)[:, np.argsort(column_classes)]
    return scores if calibrator.input_scale == "probability" else softmax(scores.T).T
