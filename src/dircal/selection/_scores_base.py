"""What a classifier says about rows, with a column for each class."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, InputScale, LabelArray

__all__ = ["known_classes", "scores_of"]

# How far below all others the logit of a class is that the classifier has never seen.
_UNSEEN = 30.0


def known_classes(classifier: Any) -> LabelArray | None:
    """Labels that a classifier was trained on; None for a function or a booster."""
    classes = getattr(classifier, "classes_", None)
    return None if classes is None else np.asarray(classes)


def scores_of(
    classifier: Any, X: ArrayLike, input_scale: InputScale, classes: Iterable[Any] | None
) -> npt.NDArray[Any]:
    """Probabilities or decision scores (n, k) of the rows, in the order of ``classes``."""
    scores = np.asarray(_call(classifier, X, input_scale))
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim == 1:
        # One score for the second class: its probability, or its logit against the first.
        first = 1.0 - scores if input_scale == "probability" else np.zeros_like(scores)
        scores = np.column_stack([first, scores])
    known = known_classes(classifier)
    if known is None or classes is None:
        return scores
    wanted = np.asarray(classes)
    if np.array_equal(known, wanted):
        return scores
    if input_scale == "probability":
        result = np.zeros((len(scores), len(wanted)), dtype=scores.dtype)
    else:
        lowest = scores.min(axis=1, keepdims=True) - _UNSEEN
        result = np.repeat(lowest, len(wanted), axis=1)
    positions = {label: i for i, label in enumerate(wanted.tolist())}
    result[:, [positions[label] for label in known.tolist()]] = scores
    return result


def _call(classifier: Any, X: ArrayLike, input_scale: InputScale) -> Any:
    method = "predict_proba" if input_scale == "probability" else "decision_function"
    if hasattr(classifier, method):
        return getattr(classifier, method)(X)
    is_classifier = hasattr(classifier, "fit") or hasattr(classifier, "classes_")
    if not is_classifier:
        # A function; or a booster, whose `predict` gives probabilities.
        for name in ("inplace_predict", "predict"):
            if hasattr(classifier, name):
                return getattr(classifier, name)(X)
        if callable(classifier):
            return classifier(X)
    other = "logit" if input_scale == "probability" else "probability"
    raise ValueError(
        f"`classifier` must have the method {method}, because the calibrator has "
        f"input_scale={input_scale!r}; {type(classifier).__name__} has none. Use a calibrator with "
        f"input_scale={other!r}, or another classifier."
    )
