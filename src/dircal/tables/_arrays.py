"""The one door: raw input in, clean arrays out, or a ValueError that says what to do."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.exceptions import RowSumWarning, warn
from dircal.tables._columns import (
    FITTING,
    MEASURING,
    Arguments,
    classes_of_columns,
)
from dircal.tables._conversion import (
    NamedScores,
    as_array,
    category_order,
    refuse_masked,
    refuse_sparse,
)
from dircal.tables._eager import eager_frame
from dircal.tables._label_types import show
from dircal.tables._labelled_scores import LabelledScores
from dircal.tables._labels import as_labels, class_indices, observed_classes, refuse_swapped
from dircal.tables._lazy import refuse_lazy
from dircal.tables._masked import check_labels_left, check_logits, refuse_entry
from dircal.tables._new_rows import columns_of_new_rows
from dircal.tables._numbers import (
    ROW_SUM_QUIET,
    ROW_SUM_TOLERANCE,
    SUM_SLACK,
    WorstSum,
    refuse_dates,
    rounding_of,
)
from dircal.tables._order import warn_of_order
from dircal.tables._soft_labels import as_soft_labels, has_label_columns
from dircal.tables._two_classes import (
    as_column,
    classes_of_two,
    two_columns,
)
from dircal.tables._weights import check_weight

__all__ = [
    "as_matrix",
    "check_confidence",
    "check_fit_arrays",
    "check_predictions",
    "check_probabilities",
    "check_scores",
    "check_values",
    "worst_row_sum",
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
) -> LabelledScores:
    """Scores, labels and weights of a fit, with every column assigned to its class.

    With binary ``arguments`` there are two classes, and one column may stand for both. What a
    classifier gave that knows its columns is not judged: its ``order_is_known``. Soft labels that
    are no whole numbers are ``counts`` of annotators where that is said.
    """
    data = _check_labelled(X, y, sample_weight, classes, input_scale, arguments, counts=counts)
    # First, since columns in another order also mask labels.
    if not order_is_known:
        warn_of_order(data, input_scale, arguments)
    if input_scale == "logit":
        check_labels_left(data, arguments)
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
) -> LabelledScores:
    """Probabilities, or logits, to be measured, their true labels and weights.

    What comes ``from_a_map`` is taken as it is: its columns have been judged before.
    """
    arguments = replace(MEASURING, scores=name)
    data = _check_labelled(y_prob, y_true, sample_weight, classes, input_scale, arguments)
    if not from_a_map:
        warn_of_order(data, input_scale, arguments)
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
) -> LabelledScores:
    binary = arguments.is_binary
    refuse_lazy(arguments.scores, scores)
    refuse_swapped(scores, labels, arguments)
    inputs, names = as_matrix(as_column(scores) if binary else scores, arguments.scores)
    n_features = inputs.shape[1]
    weight, n = check_weight(sample_weight, len(inputs), arguments), len(inputs)
    if has_label_columns(labels, arguments, counts=counts):
        soft = as_soft_labels(labels, weight, n, arguments, counts=counts)
        soft, column_classes = soft.match(names, n_features, classes, arguments)
        indices, targets = soft.labels, soft.targets
        weight = check_weight(soft.times(weight), n, arguments)
    else:
        given = as_labels(labels, n, arguments)
        observed = observed_classes(given if weight is None else given[weight > 0])
        told = (category_order(labels),)
        if binary:
            column_classes = classes_of_two(observed, classes, names, n_features, *told)
        else:
            column_classes = classes_of_columns(
                observed, classes, names, n_features, arguments, *told
            )
        # Rows of weight zero may carry a label that no class has: they count for nothing.
        indices, targets = class_indices(given, np.sort(column_classes)), None
    if n_features == 1:
        inputs = two_columns(inputs, weight, input_scale)
    check_values(inputs, weight, input_scale, arguments)
    return LabelledScores(
        inputs,
        indices,
        weight,
        np.sort(column_classes),
        column_classes,
        names,
        n_features,
        targets=targets,
    )


def check_scores(
    X: ArrayLike,
    *,
    column_classes: LabelArray,
    n_features: int,
    feature_names: LabelArray | None,
    input_scale: InputScale,
    arguments: Arguments = FITTING,
) -> tuple[npt.NDArray[Any], LabelArray]:
    """Rows to calibrate, and the label of each of their columns."""
    inputs, names = as_matrix(as_column(X) if arguments.is_binary else X)
    if inputs.shape[1] != n_features:
        expected = "one column for each class" if n_features > 1 else "that of the positive class"
        raise ValueError(
            f"`X` has {inputs.shape[1]} features, but the calibrator was fitted with "
            f"{n_features} features as input: {expected}. Pass the columns it was fitted on."
        )
    whole = two_columns(inputs, None, input_scale) if n_features == 1 else inputs
    check_values(whole, None, input_scale, FITTING)
    return inputs, columns_of_new_rows(names, column_classes, n_features, feature_names)


def check_probabilities(
    name: str, value: ArrayLike, n_classes: int | None = None
) -> npt.NDArray[Any]:
    """Rows of probabilities for what reads nothing else, of any number of classes or of so many."""
    inputs, _ = as_matrix(value, name)
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


def as_matrix(X: ArrayLike, name: str = "X") -> tuple[npt.NDArray[Any], LabelArray | None]:
    """Numbers (n, k) without copying them, and the column names of a data frame."""
    if isinstance(X, NamedScores):
        return X.matrix, X.names
    refuse_lazy(name, X)
    refuse_sparse(name, X)
    names: LabelArray | None = None
    if nw.dependencies.is_into_dataframe(X):
        frame = eager_frame(name, X)
        names = np.array(list(frame.columns), dtype=object)
        if names.tolist() == list(range(len(names))):
            names = None  # pandas numbers columns that have no names
        X = frame.to_numpy()
    refuse_masked(name, X)
    matrix = as_array(X, name)
    if np.iscomplexobj(matrix):
        raise ValueError(
            f"`{name}` holds complex numbers. (Complex data not supported.) Pass real ones."
        )
    if matrix.dtype.kind not in "fiub":
        try:
            refuse_dates(matrix)
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`{name}` must hold numbers; got values of type {matrix.dtype} ({error}). "
                "Pass the columns with the scores only."
            ) from error
    if matrix.ndim != 2:
        raise ValueError(
            f"`{name}` must be a 2D array, with a row for each sample and a column for each class; "
            f"got {matrix.ndim} dimension(s) of shape {matrix.shape}. "
            f"Reshape your data: {name}.reshape(1, -1) if it is a single row."
        )
    if 0 in matrix.shape:
        what = "sample(s)" if len(matrix) == 0 else "feature(s)"
        raise ValueError(
            f"`{name}` is empty: 0 {what} (shape={matrix.shape}) while a minimum of 1 is required. "
            "Pass at least one row and one column for each class."
        )
    return matrix, names


def check_values(
    inputs: npt.NDArray[Any],
    weight: FloatArray | None,
    input_scale: InputScale,
    arguments: Arguments,
) -> None:
    """Refuse what is neither probabilities nor logits, a chunk at a time."""
    worst = worst_row_sum(inputs, weight, input_scale, arguments)
    if worst.warning:
        warn(worst.warning, RowSumWarning)


def worst_row_sum(
    inputs: npt.NDArray[Any],
    weight: FloatArray | None,
    input_scale: InputScale,
    arguments: Arguments,
) -> WorstSum:
    """Check values like `check_values`, without a warning."""
    name, fix = arguments.scores, arguments.fix
    farthest, row, total = 0.0, 0, 1.0
    for part in row_slices(inputs.shape):
        block = inputs[part]
        if weight is not None:
            block = np.where(weight[part, None] > 0, block, 1.0 / inputs.shape[1])
        if input_scale == "logit":
            check_logits(block, part.start, arguments)
            continue
        low, high = float(block.min()), float(block.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            refuse_entry(block, ~np.isfinite(block), part.start, arguments)
        if low < 0:
            i, j = np.argwhere(block < 0)[0]
            raise ValueError(
                f"`{name}` must not be negative; {arguments.row(part.start + i)}, "
                f"{arguments.column(j)} is {block[i, j]:.6g}. {fix} (Negative values in data.)"
            )
        # Twice as fast as the sum over the short axis.
        sums = np.einsum("ij->i", block, dtype=np.float64, casting="unsafe")
        misses = np.abs(sums - 1.0)
        i = int(misses.argmax())
        if misses[i] > farthest:
            farthest, row, total = float(misses[i]), part.start + i, float(sums[i])
    if farthest > ROW_SUM_TOLERANCE + SUM_SLACK:
        raise ValueError(
            f"`{name}` must have rows that sum to one; {arguments.row(row)} sums to "
            f"{total:.6g}. {fix}"
        )
    # Rows of half precision miss by more, and no one can help it.
    if farthest <= max(ROW_SUM_QUIET, rounding_of(inputs[row])):
        return WorstSum(farthest)
    return WorstSum(
        farthest,
        f"`{name}` has rows that do not sum to one ({arguments.row(row)} sums to {total:.6g}); "
        "they were renormalised.",
    )
