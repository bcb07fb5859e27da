"""What a fitted calibrator tells a picture: its classes, its map, its parameters."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.simplex import softmax
from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.maps import AbstractParameters, CanonicalParameters
from dircal.plots._limits import PLOT_LIMITS

__all__ = [
    "apply_map",
    "canonical_of",
    "check_map",
    "classes_of",
    "most_confused",
    "probabilities_of",
    "temperature_of",
]


_LEAST = np.finfo(np.float64).tiny


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


def most_confused(calibrator: Any, k: int) -> list[int] | None:
    """Places of the three of ``k`` classes that a map takes for each other most; None for a tie.

    Of rows that are rather sure of one class each, the map gives some to the others, beyond what
    each class gives and gets on the whole: the two that exchange the most, and the third that
    exchanges the most with them.
    """
    limits = PLOT_LIMITS.get()
    if k > limits.max_compared_classes:
        return None
    q = np.full((k, k), (1.0 - limits.leading_probability) / (k - 1))
    np.fill_diagonal(q, limits.leading_probability)
    given = np.log(np.maximum(apply_map(calibrator, q), _LEAST))
    np.fill_diagonal(given, np.nan)
    given -= np.nanmean(given, axis=1, keepdims=True)
    given -= np.nanmean(given, axis=0, keepdims=True)
    exchanged = given + given.T
    if np.nanmax(exchanged) - np.nanmin(exchanged) < limits.tie_tol:
        return None
    a, b = np.unravel_index(np.nanargmax(exchanged), exchanged.shape)
    with_both = exchanged[a] + exchanged[b]
    return sorted([int(a), int(b), int(np.nanargmax(with_both))])


def probabilities_of(calibrator: Any, X: ArrayLike) -> FloatArray:
    """Rows before calibration as probabilities (n, k), in the sorted order of the classes."""
    scores: FloatArray = calibrator.fit_.scores_by_class(*calibrator.fit_.check_scores(X))
    return scores if calibrator.input_scale == "probability" else softmax(scores.T).T
