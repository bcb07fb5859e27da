"""Labels as users have them, and the indices of their classes."""

import datetime as dt
from enum import Enum
from itertools import repeat
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from dircal._typing import ArrayLike, IntArray, LabelArray
from dircal.validation._columns import Arguments
from dircal.validation._conversion import as_array, as_label_array, refuse_masked
from dircal.validation._two_classes import BINARY

__all__ = [
    "SEVERAL_LABELS",
    "as_labels",
    "as_plain",
    "class_indices",
    "observed_classes",
    "plain_labels_advice",
    "refuse_swapped",
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
    refuse_masked(name, y)
    table = _as_table(y, name)
    if table.ndim == 2 and table.shape[1] > 1:
        _refuse_table(table, arguments)
    if table.dtype.kind == "c":
        raise ValueError(
            f"`{name}` must hold labels; got complex numbers such as {table.flat[0]}. Pass "
            "strings, integers or booleans."
        )
    labels: LabelArray = column_or_1d(table, warn=True)
    if len(labels) != n_samples:
        raise ValueError(
            f"`{name}` has {len(labels)} labels, but `{arguments.scores}` has {n_samples} rows. "
            "Pass one label for each row."
        )
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError(f"`{name}` holds NaN or infinity. Remove the rows without a label.")
        if (labels != np.floor(labels)).any():
            raise ValueError(
                f"`{name}` must hold labels; got {labels[labels != np.floor(labels)][0]!r}. "
                "(Unknown label type: continuous.) Pass classes, not measurements; if these are "
                f"the scores, `{arguments.scores}` and `{name}` are swapped."
            )
    if labels.dtype.kind in "mM" and np.isnat(labels).any():
        raise ValueError(f"`{name}` holds NaT. Remove the rows without a label.")
    if labels.dtype.kind == "O":
        _check_objects(labels, name)
    return labels


def refuse_swapped(scores: ArrayLike, labels: ArrayLike, arguments: Arguments) -> None:
    """Raise where labels were passed as the scores, and the scores as the labels."""
    first, second = _shape(scores), _shape(labels)
    if len(first) < 2 and len(second) == 2 and second[1] > 1:
        if second[1] == 2 and arguments.caller == BINARY.caller and _are_fractions(scores):
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


def _as_table(y: ArrayLike, name: str) -> npt.NDArray[Any]:
    try:
        return as_label_array(y, name)
    except ValueError as error:  # lists of lists of different lengths
        if not isinstance(y, list | tuple):
            raise
        raise ValueError(
            f"`{name}` must be one label for each row: {error}. {SEVERAL_LABELS}"
        ) from error


SEVERAL_LABELS = (
    "Rows with several labels (multilabel) are several problems of two classes: calibrate each "
    "label by itself, for example with BetaCalibrator and the column of its probabilities."
)


def _refuse_table(table: npt.NDArray[Any], arguments: Arguments) -> NoReturn:
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


def _check_objects(labels: LabelArray, name: str) -> None:
    """Refuse missing labels and labels that cannot be put in order."""
    values = labels.tolist()
    # Of many rows there are few types and few labels, and sets of them are made without a loop.
    types = set(map(type, values))
    if any(issubclass(one, list | set | frozenset | np.ndarray) for one in types):
        raise ValueError(f"`{name}` must be one label for each row. {SEVERAL_LABELS}")
    try:
        distinct = set(values)
    except TypeError:  # they need no hash, only an order
        distinct = values
    if not all(map(_equals_itself, distinct)):
        missing = next(value for value in values if not _equals_itself(value))
        raise ValueError(f"`{name}` holds {missing!r}. Remove the rows without a label.")
    kinds = sorted({one.__name__ for one in types})
    if len(kinds) > 1:
        raise ValueError(
            f"`{name}` must hold labels of one type; got {' and '.join(kinds)}. "
            "(Unknown label type: mixed.) Convert them, for example to strings."
        )
    try:
        _ = labels[0] < labels[0]
    except TypeError:
        advice = plain_labels_advice(type(labels[0]))
        raise ValueError(
            f"`{name}` holds labels of the type {kinds[0]}, which have no order. {advice}"
        ) from None


def _equals_itself(value: object) -> bool:
    """Whether a label can be one: None, NaN and pandas' NA and NaT cannot."""
    try:
        return value is not None and bool(value == value)
    except TypeError:
        return False


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


def as_plain(label: Any) -> Any:
    """A text, number or truth value as exactly that, whatever class it has made of it.

    A class of one's own may write itself as it likes, as members of an enumeration do. Anything
    else stays what it is.
    """
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, str):
        return str.__str__(label)
    if isinstance(label, int):
        return int.__int__(label)
    if isinstance(label, np.integer):
        return int(label)
    if isinstance(label, float):
        return float.__float__(label)
    return float(label) if isinstance(label, np.floating) else label


def plain_labels_advice(kind: type) -> str:
    """How to make labels of this type such that every program and every file can hold."""
    if issubclass(kind, Enum):
        how = "the names of its members, [label.name for label in y]"
    elif issubclass(kind, dt.date | np.datetime64):
        how = "np.asarray(y, dtype='datetime64[s]'), or on texts, [str(label) for label in y]"
    elif issubclass(kind, bytes):
        how = "texts, [label.decode() for label in y]"
    else:
        how = "texts, [str(label) for label in y]"
    return f"Fit on {how}."
