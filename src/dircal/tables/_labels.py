"""Labels as users have them, and the indices of their classes."""

from itertools import repeat
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, IntArray, LabelArray
from dircal.tables._columns import Arguments
from dircal.tables._conversion import as_array, reject_masked
from dircal.tables._label_types import SEVERAL_LABELS, as_label_array, check_label_types

__all__ = [
    "as_labels",
    "class_indices",
    "observed_classes",
    "reject_swapped_arguments",
]

# Whole numbers that span no more than this are looked up in a table; others are sorted.
_TABLE = 2**16


def as_labels(y: ArrayLike, n_samples: int, arguments: Arguments) -> LabelArray:
    """One label for each row, of a kind that can be put in order."""
    name = arguments.labels
    if y is None:
        raise ValueError(
            f"`{name}` is None: requires {name} to be passed, but the target y is None. "
            f"Pass the true label of each row of `{arguments.scores}`."
        )
    reject_masked(name, y)
    table = as_label_array(y, name)
    if table.ndim == 2 and table.shape[1] > 1:
        _reject_table(table, arguments)
    if table.dtype.kind == "c":
        raise ValueError(
            f"`{name}` must hold labels; got complex numbers such as {table.flat[0]}. "
            "Pass strings, integers or booleans. (Complex data not supported.)"
        )
    # Here, since it takes long to load: columns that are not there are found before.
    from sklearn.utils.validation import column_or_1d

    labels: LabelArray = column_or_1d(table, warn=True)
    if len(labels) != n_samples:
        raise ValueError(
            f"`{name}` has {len(labels)} labels, but `{arguments.scores}` has {n_samples} rows. "
            "Pass one label for each row."
        )
    labels = check_label_types(labels, name, "Remove the rows without a label.")
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise ValueError(
            f"`{name}` must hold labels; got {labels[labels != np.floor(labels)][0]!r}. "
            "(Unknown label type: continuous.) Pass classes, not measurements; if these are "
            f"the scores, `{arguments.scores}` and `{name}` are swapped."
        )
    return labels


def reject_swapped_arguments(scores: ArrayLike, labels: ArrayLike, arguments: Arguments) -> None:
    """Raise where labels were passed as the scores, and the scores as the labels."""
    first, second = _shape(scores), _shape(labels)
    if len(first) < 2 and len(second) == 2 and second[1] > 1:
        if second[1] == 2 and arguments.is_binary and _are_fractions(scores):
            return
        raise ValueError(
            f"`{arguments.scores}` has shape {first} and `{arguments.labels}` has shape "
            f"{second}: they look swapped. Pass a column of scores for each class as "
            f"`{arguments.scores}` and one label for each row as `{arguments.labels}`. (y should "
            "be a 1d array.)"
        )


def _are_fractions(scores: ArrayLike) -> bool:
    """Whether these are numbers, and not all of them whole: one column for two classes."""
    values = as_array(scores)
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of an array; of a list by its first entry, since long ones are slow to convert."""
    if isinstance(value, list):
        return (len(value), *(_shape(value[0]) if value else ()))
    return tuple(getattr(value, "shape", ()))


def _reject_table(table: npt.NDArray[Any], arguments: Arguments) -> NoReturn:
    """Labels in several columns: one-hot, several for each row, or no labels at all."""
    name = arguments.labels
    fix = (
        f"Pass one label for each row of `{arguments.scores}`; if this is what belongs there, "
        f"`{arguments.scores}` and `{name}` are swapped."
    )
    if table.dtype.kind in "fiub" and np.isin(table, (0, 1)).all():
        one_hot = bool((table.sum(axis=1) == 1).all())
        fix = (
            f"Its rows are one-hot: pass `{name}.argmax(axis=1)`, the number of the column, or the "
            "label that belongs to it."
            if one_hot
            else SEVERAL_LABELS
        )
    raise ValueError(
        f"`{name}` must be one label for each row; got {table.shape[1]} columns. {fix} "
        f"(y should be a 1d array, got an array of shape {table.shape} instead.)"
    )


def observed_classes(labels: LabelArray) -> LabelArray:
    """The distinct labels, sorted."""
    low, span = _span(labels)
    if span is None:
        return np.unique(labels)
    counts = np.bincount(labels.astype(np.int64) - low)
    return (np.flatnonzero(counts) + low).astype(labels.dtype)


def class_indices(labels: LabelArray, classes: LabelArray) -> IntArray:
    """Position of each label in the sorted ``classes``; labels that are no class get any."""
    small = np.min_scalar_type(len(classes))
    low, span = _span(labels)
    if labels.dtype.kind == "O" and classes.dtype.kind == "O":
        return _looked_up(labels, classes).astype(small)
    if span is None or classes.dtype.kind not in "iu":
        return _searched(labels, classes).astype(small)
    table = np.searchsorted(classes, np.arange(low, low + span)).clip(max=len(classes) - 1)
    indices: IntArray = table.astype(small)[labels.astype(np.int64) - low]
    return indices


def _looked_up(labels: LabelArray, classes: LabelArray) -> IntArray:
    """What `_searched` finds, three times as fast where labels have a hash."""
    try:
        places = {label: i for i, label in enumerate(classes.tolist())}
        return np.fromiter(map(places.get, labels.tolist(), repeat(0)), np.intp, len(labels))
    except TypeError:
        return _searched(labels, classes)


def _searched(labels: LabelArray, classes: LabelArray) -> IntArray:
    return np.searchsorted(classes, labels).clip(max=len(classes) - 1)


def _span(labels: LabelArray) -> tuple[int, int | None]:
    """The least of some whole numbers and how many there are to the greatest; None if many."""
    if labels.dtype.kind not in "iu" or len(labels) == 0:
        return 0, None
    low, high = int(labels.min()), int(labels.max())
    in_reach = high - low < _TABLE and high < np.iinfo(np.int64).max
    return low, high - low + 1 if in_reach else None
