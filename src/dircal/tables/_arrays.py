"""Validation of arrays: clean rows, or a ValueError with the argument, the value and the fix."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.tables._columns import (
    FITTING,
    MEASURING,
    Arguments,
    as_column,
    match_one,
    reject_ambiguous_columns,
    two_columns,
)
from dircal.tables._conversion import as_array
from dircal.tables._labelled_rows import ArrayRows
from dircal.tables._labels import reject_swapped_arguments, show
from dircal.tables._names import match_exactly, match_names
from dircal.tables._order import check_labels_fit, warn_column_order
from dircal.tables._raw_rows import RawRows, agree, check_weight
from dircal.tables._values import ROW_SUM_QUIET, as_matrix, check_values, reject_lazy

__all__ = [
    "both_columns",
    "check_confidence",
    "check_fit_arrays",
    "check_predictions",
    "check_probabilities",
    "check_scores",
]


def check_fit_arrays(
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments = FITTING,
    order_is_known: bool = False,
    counts: bool = False,
) -> ArrayRows:
    """Check the arrays of a fit, and assign every column to its class; see `check_fit`."""
    data = _check_labelled(X, y, sample_weight, classes, input_scale, arguments, counts=counts)
    check_labels_fit(data, input_scale, arguments, order_is_known=order_is_known)
    return data


def check_predictions(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: Iterable[Any] | None,
    *,
    name: str = "y_prob",
    input_scale: InputScale = "probability",
    from_a_map: bool = False,
) -> ArrayRows:
    """Check probabilities or logits that are measured, their true labels and weights.

    The order of columns ``from_a_map`` was judged before.
    """
    arguments = replace(MEASURING, scores=name)
    data = _check_labelled(y_prob, y_true, sample_weight, classes, input_scale, arguments)
    if not from_a_map:
        warn_column_order(data, input_scale, arguments)
    return data


def _check_labelled(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: Iterable[Any] | None,
    input_scale: InputScale,
    arguments: Arguments,
    *,
    counts: bool = False,
) -> ArrayRows:
    """Check arrays like a table of one batch."""
    reject_lazy(arguments.scores, scores)
    reject_swapped_arguments(scores, labels, arguments)
    scores = as_column(scores, arguments.scores)
    raw = RawRows.of(scores, labels, sample_weight, arguments, counts=counts)
    agreed = agree([raw.summary(arguments)], classes, arguments, counts=counts)
    data = raw.assign(agreed, input_scale)
    check_values(data.matrix, data.sample_weight, input_scale, arguments)
    return data


def check_scores(
    X: ArrayLike,
    *,
    column_classes: LabelArray,
    n_features: int,
    feature_names: LabelArray | None,
    input_scale: InputScale,
) -> tuple[npt.NDArray[Any], LabelArray]:
    """Rows to calibrate, and the label of each of their columns."""
    inputs, names = as_matrix(as_column(X) if n_features == 1 else X)
    if inputs.shape[1] != n_features:
        expected = "one column for each class" if n_features > 1 else "that of the positive class"
        raise ValueError(
            f"`X` has {inputs.shape[1]} features, but the calibrator was fitted with "
            f"{n_features} features as input: {expected}. Pass the columns it was fitted on."
        )
    whole = two_columns(inputs, None, input_scale) if n_features == 1 else inputs
    check_values(whole, None, input_scale, FITTING)
    return inputs, _columns_of_new_rows(names, column_classes, n_features, feature_names)


def both_columns(name: str, value: ArrayLike) -> ArrayLike:
    """Return both columns of probabilities of two classes, if only one is given."""
    inputs, _ = as_matrix(as_column(value, name), name)
    if inputs.shape[1] != 1:
        return value
    return two_columns(inputs, None, "probability", replace(MEASURING, scores=name))


def check_probabilities(
    name: str, value: ArrayLike, n_classes: int | None = None
) -> npt.NDArray[Any]:
    """Rows of probabilities for what reads nothing else, of any number of classes or of so many."""
    value = as_column(value, name) if n_classes in (None, 2) else value
    inputs, _ = as_matrix(value, name)
    if inputs.shape[1] == 1 and n_classes in (None, 2):
        inputs = two_columns(inputs, None, "probability", replace(MEASURING, scores=name))
    if n_classes is not None and inputs.shape[1] != n_classes:
        raise ValueError(
            f"`{name}` has {inputs.shape[1]} columns, but the map has {n_classes} classes. "
            "Pass a column of probabilities for each class."
        )
    check_values(inputs, None, "probability", replace(MEASURING, scores=name))
    return inputs


def check_confidence(
    correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], FloatArray | None]:
    """Confidence of each row, whether it was right, and its weight."""
    values = as_array(confidence, "confidence")
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "fiub":
        raise ValueError(
            f"`confidence` must be one number for each row; got {values.dtype} values of shape "
            f"{values.shape}. Pass the largest probability of each row."
        )
    right = as_array(correct, "correct")
    if right.shape != values.shape:
        raise ValueError(
            f"`correct` has shape {right.shape}, but `confidence` has {values.shape}. "
            "Pass one right or wrong for each row."
        )
    if right.dtype.kind not in "fiub" or not np.isin(right, (0, 1)).all():
        raise ValueError(
            f"`correct` must hold True and False, or 1 and 0; got {right.dtype} values such as "
            f"{show(np.unique(right))}. Pass `predicted == y_true`."
        )
    weight = check_weight(sample_weight, len(values))
    counted = values if weight is None else np.where(weight > 0, values, 0)
    bad = ~((counted >= 0) & (counted <= 1.0 + ROW_SUM_QUIET))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"`confidence` must lie between 0 and 1; row {i} is {values[i]}. "
            "Pass the largest probability of each row."
        )
    return values, right.astype(bool), weight


def _columns_of_new_rows(
    names: LabelArray | None,
    column_classes: LabelArray,
    n_features: int,
    feature_names: LabelArray | None,
) -> LabelArray:
    """Label of each column of new rows, by their names where these tell."""
    if names is None:
        return column_classes
    exact, near = (match_one,) * 2 if n_features == 1 else (match_exactly, match_names)
    matched = exact(names, column_classes)
    if matched is not None:
        return matched
    if feature_names is None:
        matched = near(names, column_classes)
        if matched is None and n_features > 1:
            reject_ambiguous_columns(names, column_classes, FITTING)
        return column_classes if matched is None else matched
    if np.array_equal(names, feature_names):
        return column_classes
    # Names that are like labels tell only if those of the fit did.
    then, now = near(feature_names, column_classes), near(names, column_classes)
    if then is None or now is None or not np.array_equal(then, column_classes):
        raise ValueError(
            f"`X` has columns named {show(names)}, but the calibrator was fitted on columns named "
            f"{show(feature_names)}. Select and order the columns as in `fit`."
        )
    return now
