"""What a classifier says about rows, with a column for each class."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from dircal._typing import ArrayLike, InputScale, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.tables import FITTING, as_array, show

__all__ = ["ESTIMATED", "join_classes", "known_classes", "on_scale_of", "scores_of"]

# How far below all others the logit of a class is that the classifier has never seen.
_UNSEEN = 30.0
ESTIMATED = replace(
    FITTING,
    scores="predict_proba(X)",
    order_fix="let `classes_` of the estimator be {0}, or of a function pass `classes={0}` to the "
    "calibrator",
)
"""How doubt about the order of columns speaks of scores that a classifier gave."""


def known_classes(classifier: Any) -> LabelArray | None:
    """Labels that a classifier was trained on; None for a function or a booster."""
    classes = getattr(classifier, "classes_", None)
    return None if classes is None else np.asarray(classes)


def on_scale_of(classifier: Any, calibrator: AbstractCalibrator) -> AbstractCalibrator:
    """The calibrator, made to read logits where the classifier has decision scores and no more.

    Nothing is guessed: which method of the classifier is called is known.
    """
    has_only_scores = hasattr(classifier, "decision_function") and not hasattr(
        classifier, "predict_proba"
    )
    if calibrator.input_scale == "logit" or not has_only_scores:
        return calibrator
    made: AbstractCalibrator = _on_logits(calibrator)
    return made


def _on_logits(calibrator: Any) -> Any:
    copy = clone(calibrator)
    parameters = copy.get_params(deep=False)
    if isinstance(parameters.get("calibrator"), AbstractCalibrator):
        copy.set_params(calibrator=_on_logits(parameters["calibrator"]))
    if parameters.get("calibrators") is not None:
        copy.set_params(calibrators=[_on_logits(one) for one in parameters["calibrators"]])
    return copy.set_params(input_scale="logit") if "input_scale" in parameters else copy


def join_classes(known: LabelArray, labels: LabelArray) -> LabelArray:
    """Labels that a classifier knows and those of the rows, sorted."""
    observed = np.unique(labels)
    try:
        both = np.unique(np.concatenate([known, observed]))
    except TypeError:  # no order between words and numbers
        both = observed
    # NumPy makes words of numbers beside words, so that some are no longer found.
    if set(known.tolist()) | set(observed.tolist()) != set(both.tolist()):
        raise ValueError(
            f"`estimator` has `classes_` {show(known)}, but `y` holds labels of another kind, "
            f"{show(observed)}. Pass the labels that the classifier was trained on."
        )
    return both


def scores_of(
    classifier: Any, X: ArrayLike, input_scale: InputScale, classes: Iterable[Any] | None
) -> Any:
    """Probabilities or decision scores (n, k) of the rows, in the order of ``classes``.

    A data frame from a function stays one: its columns may be named after the classes.
    """
    given = _call(classifier, X, input_scale)
    scores, known = as_array(given), known_classes(classifier)
    _check_finite(scores)
    if known is None and scores.ndim == 2 and scores.shape[1] > 1:
        return given if nw.dependencies.is_into_dataframe(given) else scores
    if known is not None and len(known) == 1 and scores.size == len(scores):
        # Trained on rows of one class: the one column is that of this class.
        scores = scores.reshape(-1, 1)
    elif scores.ndim == 1 or scores.shape[1:] == (1,):
        # One score for the second class: its probability, or its logit against the first.
        second = scores.reshape(-1)
        first = 1.0 - second if input_scale == "probability" else np.zeros_like(second)
        scores = np.column_stack([first, second])
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


def _check_finite(scores: npt.NDArray[Any]) -> None:
    if scores.dtype.kind != "f" or np.isfinite(scores).all():
        return
    place = np.argwhere(~np.isfinite(scores))[0]
    column = f", column {place[1]}" if scores.ndim > 1 else ""
    raise ValueError(
        f"`estimator` gave scores that are not finite: row {place[0]}{column} is "
        f"{scores[tuple(place)]}. Repair the classifier, or leave out such rows of `X`."
    )


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
        f"`estimator` must have the method {method}, because the calibrator has "
        f"input_scale={input_scale!r}; {type(classifier).__name__} has none. Use a calibrator with "
        f"input_scale={other!r}, or another classifier."
    )
