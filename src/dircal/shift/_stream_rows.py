"""Rows of a stream at the door: probabilities, labels that may be missing, groups, times, keys."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.tables import (
    Arguments,
    as_array,
    as_labels,
    as_plain,
    check_probabilities,
    class_indices,
    match_names,
    show,
)

__all__ = [
    "MISSING",
    "StreamRows",
    "as_times",
    "check_classes",
    "check_groups",
    "check_labels",
    "check_one_each",
    "check_order",
    "check_stream",
]

_WORDS = Arguments("P", "y", "a monitor", "Pass probabilities.")
MISSING = -1
"""In the place of the index of a label that is not known yet."""


@dataclass(frozen=True)
class StreamRows:
    """Probabilities (n, k) in the order of the classes, and the index (n,) of each label.

    ``groups``, ``times`` and ``keys`` are lists as long, or None.
    """

    proba: FloatArray
    labels: IntArray
    groups: list[Any] | None
    times: list[Any] | None
    keys: list[Any] | None

    def take(self, chosen: npt.NDArray[np.bool_]) -> "StreamRows":
        """Some of the rows."""

        def some(values: list[Any] | None) -> list[Any] | None:
            if values is None:
                return None
            return [value for value, kept in zip(values, chosen, strict=True) if kept]

        return StreamRows(
            self.proba[chosen],
            self.labels[chosen],
            some(self.groups),
            some(self.times),
            some(self.keys),
        )


def check_stream(
    P: ArrayLike,
    y: ArrayLike,
    classes: LabelArray,
    column_classes: LabelArray,
    groups: ArrayLike | None,
    times: ArrayLike | None,
    keys: ArrayLike | None,
) -> StreamRows:
    """Rows that have passed the door, or a ValueError; labels may be missing."""
    inputs = check_probabilities("P", P, len(classes))
    columns = column_classes
    if hasattr(P, "columns"):
        matched = match_names(np.array([*P.columns], dtype=object), column_classes)
        columns = column_classes if matched is None else matched
    proba = inputs[:, np.argsort(columns)].astype(np.float64)
    proba /= proba.sum(axis=1, keepdims=True)
    n = len(proba)
    return StreamRows(
        proba,
        check_labels(y, n, classes),
        check_one_each("groups", groups, n),
        as_times(times, n),
        check_one_each("keys", keys, n),
    )


def check_labels(y: ArrayLike, n_rows: int, classes: LabelArray) -> IntArray:
    """Index of each label; `MISSING` where there is none: None, NaN, NaT or an empty text."""
    if y is None:
        raise ValueError("`y` is None. Pass a label for each row of `P`, None where it is missing.")
    given = as_array(y)
    if given.shape != (n_rows,):
        raise ValueError(
            f"`y` has shape {given.shape}, but `P` has {n_rows} rows. Pass one label for each row, "
            "None where it is missing."
        )
    known = np.ones(n_rows, dtype=bool)
    if given.dtype.kind not in "iub":
        known = np.array([_is_there(label) for label in given.tolist()], dtype=bool)
    found = np.full(n_rows, MISSING, dtype=np.int64)
    if not known.any():
        return found
    present = given[known]
    if present.dtype.kind == "O":
        present = np.array(present.tolist())
    labels = as_labels(present, len(present), _WORDS)
    if labels.dtype.kind == "f" and classes.dtype.kind in "iu":
        labels = labels.astype(np.int64)
    strangers = [one for one in np.unique(labels).tolist() if one not in set(classes.tolist())]
    if strangers:
        raise ValueError(
            f"`y` holds the label {strangers[0]!r}, which is not among `classes` {show(classes)}. "
            "Drop its rows, or start a monitor that knows it."
        )
    found[known] = class_indices(labels.astype(classes.dtype), classes)
    return found


def _is_there(label: Any) -> bool:
    try:
        return label is not None and label != "" and bool(label == label)
    except TypeError:
        return False


def check_one_each(name: str, given: ArrayLike | None, n_rows: int) -> list[Any] | None:
    """A text or a number for each row."""
    if given is None:
        return None
    values = [as_plain(value) for value in as_array(given).ravel().tolist()]
    if len(values) != n_rows:
        raise ValueError(
            f"`{name}` has {len(values)} entries, but there are {n_rows} rows. Pass one for each."
        )
    for value in values:
        if type(value) not in (str, int, float, bool) or value != value:
            raise ValueError(
                f"`{name}` must hold texts or numbers; got {value!r}. Convert them, for example "
                "with str."
            )
    return values


def as_times(given: ArrayLike | None, n_rows: int) -> list[Any] | None:
    """A time for each row, a number or a text that sorts by time; never one before the last."""
    if given is None:
        return None
    array = as_array(given)
    if array.dtype.kind == "M":
        array = array.astype(str)
    elif array.dtype.kind == "O":
        array = np.array([getattr(time, "isoformat", lambda t=time: t)() for time in array])
    times = check_one_each("times", array, n_rows)
    assert times is not None
    for i, (one, other) in enumerate(pairwise(times), 1):
        if other < one:
            raise ValueError(
                f"`times` must not go back; row {i} has {other!r} after {one!r}. Sort the rows by "
                "time, or leave `times` out."
            )
    return times


def check_order(times: list[Any] | None, last: Any) -> None:
    """Refuse times of another kind than the last one before them, or before it."""
    if times is None or last is None:
        return
    if isinstance(times[0], str) != isinstance(last, str):
        raise ValueError(
            f"`times` must be of one kind; got {times[0]!r} after {last!r}. Pass times as before."
        )
    if times[0] < last:
        raise ValueError(
            f"`times` must not go back; got {times[0]!r} after {last!r}. Pass rows in the order of "
            "time, each once."
        )


def check_classes(classes: list[Any]) -> LabelArray:
    """Distinct labels, at least two."""
    labels = np.array(classes)
    if labels.ndim != 1 or len(labels) < 2 or len(np.unique(labels)) < len(labels):
        raise ValueError(
            f"`classes` must be at least two distinct labels; got {classes!r:.80}. Pass the label "
            "of each column of the probabilities."
        )
    return labels


def check_groups(given: bool, earlier: bool | None) -> None:
    """Refuse groups where there were none, or none where there were."""
    if earlier is not None and earlier != given:
        raise ValueError(
            f"`groups` must be given always or never; earlier rows came "
            f"{'with' if earlier else 'without'} them. Start another monitor, or pass them as "
            "before."
        )
