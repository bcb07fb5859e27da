"""Labels as users have them, and the indices of their classes."""

import datetime as dt
from collections.abc import Iterable, Mapping, Set, Sized
from enum import Enum
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, IntArray, LabelArray
from dircal.tables._conversion import as_array, reject_masked

if TYPE_CHECKING:
    from dircal.tables._columns import Arguments

__all__ = [
    "SEVERAL_LABELS",
    "as_label_array",
    "as_labels",
    "as_plain",
    "check_classes",
    "class_indices",
    "is_missing",
    "observed_classes",
    "plain_labels_advice",
    "reject_swapped_arguments",
    "show",
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


# Whole numbers that span no more than this are looked up in a table; others are sorted.
_TABLE = 2**16


def as_labels(y: ArrayLike, n_samples: int, arguments: "Arguments") -> LabelArray:
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


def reject_swapped_arguments(scores: ArrayLike, labels: ArrayLike, arguments: "Arguments") -> None:
    """Raise where labels were passed as the scores, and the scores as the labels."""
    first, second = _shape(scores), _shape(labels)
    if len(first) < 2 and len(second) == 2 and second[1] > 1:
        if second[1] == 2 and _are_fractions(scores):
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


def _reject_table(table: npt.NDArray[Any], arguments: "Arguments") -> NoReturn:
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
