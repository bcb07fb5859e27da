"""Types of labels: one in each array, and no label that NumPy converts into another."""

import datetime as dt
from collections.abc import Iterable, Mapping, Set, Sized
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import LabelArray
from dircal.tables._conversion import as_array

__all__ = [
    "SEVERAL_LABELS",
    "as_label_array",
    "as_plain",
    "check_classes",
    "check_label_types",
    "is_missing",
    "plain_labels_advice",
    "show",
    "type_name",
]

# Types of Python, and the classes whose objects are plain values of them. Durations of NumPy are
# integers by inheritance only.
_PLAIN: dict[type, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    str: (str,),
    bytes: (bytes,),
    int: (int, np.integer),
    float: (float, np.floating),
}
_NUMBERS = {"int", "float"}
_SEQUENCES = (list, tuple, set, frozenset, np.ndarray)

SEVERAL_LABELS = (
    "Rows with several labels (multilabel) are several problems of two classes: calibrate each "
    "label by itself, for example with BetaCalibrator and the column of its probabilities."
)


def _plain_type(kind: type) -> type | None:
    """Return the type of Python that a class of labels extends, or None."""
    if issubclass(kind, np.timedelta64):
        return None
    return next((plain for plain, classes in _PLAIN.items() if issubclass(kind, classes)), None)


def type_name(kind: type) -> str:
    """Return the name by which labels of this class are of one type with others."""
    return (_plain_type(kind) or kind).__name__


def as_plain(label: Any) -> Any:
    """Return a string, number, boolean or bytes as exactly that; leave anything else unchanged.

    A class derived from these may print as it likes, as members of an enumeration do.
    """
    plain = _plain_type(type(label))
    if plain is str:
        return str.__str__(label)
    if plain is int and isinstance(label, int):
        return int.__int__(label)
    if plain is float and isinstance(label, float):
        return float.__float__(label)
    return label if plain is None else plain(label)


def as_label_array(labels: Any, name: str = "array") -> npt.NDArray[Any]:
    """Return labels as an array in which each of them keeps its value.

    NumPy would convert a list of several types to one of them, as 1 to '1' and True to 1, and
    members of an enumeration of strings to what they print. Labels that no other array can contain
    become objects, for `check_label_types`.
    """
    if not isinstance(labels, list | tuple):
        array = as_array(labels, name)
        # Variable-width strings of NumPy, which few of its functions support.
        return array.astype(object) if array.dtype.kind == "T" else array
    types = set(map(type, labels))
    names = set(map(type_name, types))
    nested = any(issubclass(kind, _SEQUENCES) for kind in types)
    if len(names) > 1 and not names <= _NUMBERS and not nested:
        return _as_objects(labels)
    if any(_plain_type(kind) not in (None, kind) for kind in types):
        labels = [as_plain(label) for label in labels]
    try:
        array = as_array(labels, name)
    except ValueError:
        if not nested:
            raise
        # Lists of different lengths.
        return _as_objects(labels)
    if array.ndim != 1 or array.dtype.kind not in "fUS" or array.tolist() == [*labels]:
        return array
    # A missing label differs from itself.
    pairs = zip(array.tolist(), labels, strict=True)
    changed = [label for kept, label in pairs if kept != label and label == label]
    if not changed:
        return array
    if array.dtype.kind == "f":
        raise ValueError(
            f"`{name}` contains the integer {changed[0]}, which a 64-bit array with the others "
            "would round. Convert them, for example to strings."
        )
    # Strings that end in a zero.
    return _as_objects(labels)


def _as_objects(labels: Iterable[Any]) -> npt.NDArray[Any]:
    return np.fromiter(labels, dtype=object)


def check_label_types(labels: LabelArray, name: str, fix: str) -> LabelArray:
    """Return labels of one type; raise if one is missing, or if they cannot be put in order.

    Parameters
    ----------
    labels : array
        Labels from `as_label_array`.
    name : str
        Name of the argument.
    fix : str
        Advice on missing labels.
    """
    if labels.dtype.kind in "fc" and not np.isfinite(labels).all():
        raise ValueError(f"`{name}` holds NaN or infinity. {fix}")
    if labels.dtype.kind in "mM" and np.isnat(labels).any():
        raise ValueError(f"`{name}` holds NaT. {fix}")
    if labels.dtype.kind == "V":
        raise ValueError(
            f"`{name}` must hold labels; got values of type {labels.dtype}. Convert them, for "
            "example to strings."
        )
    if labels.dtype.kind == "f" and labels.dtype.itemsize > 8:
        return labels.astype(np.float64)
    return _check_objects(labels, name, fix) if labels.dtype.kind == "O" else labels


def _check_objects(labels: LabelArray, name: str, fix: str) -> LabelArray:
    """Return objects of one type; of several classes of it, as objects of Python."""
    values = labels.tolist()
    # Of many rows there are few types and few labels, and sets of them are made without a loop.
    types = set(map(type, values))
    if any(issubclass(one, _SEQUENCES) for one in types):
        raise ValueError(f"`{name}` must be one label for each row. {SEVERAL_LABELS}")
    try:
        distinct = set(values)
    except TypeError:  # they need no hash, only an order
        distinct = values
    if any(map(is_missing, distinct)):
        missing = next(value for value in values if is_missing(value))
        raise ValueError(f"`{name}` holds {missing!r}. {fix}")
    kinds = sorted(set(map(type_name, types)))
    if len(kinds) > 1:
        raise ValueError(
            f"`{name}` must hold labels of one type; got {' and '.join(kinds)}. "
            "(Unknown label type: mixed.) Convert them, for example to strings."
        )
    if kinds == ["float"] and not np.isfinite(values).all():
        raise ValueError(f"`{name}` holds NaN or infinity. {fix}")
    if len(types) > 1:
        labels = _as_objects(map(as_plain, values))
    elif issubclass(next(iter(types)), np.datetime64 | np.timedelta64):
        labels = np.array(values)
    try:
        sorted(distinct)
    except TypeError:
        advice = plain_labels_advice(type(labels[0]))
        raise ValueError(
            f"`{name}` holds labels of the type {kinds[0]}, which have no order. {advice}"
        ) from None
    return labels


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or NA or NaT of pandas and NumPy, which are not themselves."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def check_classes(classes: Iterable[Any], name: str = "classes") -> LabelArray:
    """Return distinct labels of one type, in the order given; raise if they are not."""
    ordered = isinstance(classes, Sized) and isinstance(classes, Iterable)
    if not ordered or isinstance(classes, str | Set | Mapping):
        raise ValueError(
            f"`{name}` must be a list or an array; got a {type(classes).__name__}. "
            "Pass the label of each column, in the order of the columns."
        )
    labels = list(classes)
    if not any(isinstance(label, _SEQUENCES) for label in labels):
        given = as_label_array(labels, name)
        given = check_label_types(given, name, "Leave it out.") if labels else given
        if len(np.unique(given)) == len(given):
            return given
    raise ValueError(
        f"`{name}` must be distinct labels; got {labels!r:.80}. Pass the label of each column once."
    )


def show(labels: LabelArray) -> str:
    """Return a few labels as text for a message."""
    shown = [repr(label) for label in labels[:6].tolist()]
    return "[" + ", ".join([*shown, "..."] if len(labels) > 6 else shown) + "]"


def plain_labels_advice(kind: type) -> str:
    """Return advice on converting labels of this type to ones that every file can contain."""
    if issubclass(kind, Enum):
        how = "the names of its members, [label.name for label in y]"
    elif issubclass(kind, dt.date | np.datetime64):
        how = "np.asarray(y, dtype='datetime64[ns]'), or on texts, [str(label) for label in y]"
    elif issubclass(kind, bytes):
        how = "texts, [label.decode() for label in y]"
    else:
        how = "texts, [str(label) for label in y]"
    return f"Fit on {how}."
