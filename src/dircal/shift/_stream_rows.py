"""Rows of a stream at the door: probabilities, labels that may be missing, groups, times, keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.shift._times import check_times
from dircal.tables import (
    Arguments,
    as_label_array,
    as_labels,
    check_classes,
    check_keys,
    check_probabilities,
    class_indices,
    is_missing,
    key_type,
    match_names,
    observed_classes,
    show,
)

__all__ = [
    "MISSING",
    "Earlier",
    "StreamRows",
    "check_labels",
    "check_monitored_classes",
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


@dataclass(frozen=True)
class Earlier:
    """Properties of the rows so far that further rows must share; None if not known yet.

    ``last_time`` is the time of the last row, ``group_type`` and ``key_type`` are those of
    `key_type`.
    """

    has_groups: bool | None = None
    last_time: Any = None
    group_type: str | None = None
    key_type: str | None = None

    @classmethod
    def from_json(cls, state: dict[str, Any], keys: list[Any]) -> "Earlier":
        """Return what a state contains; older versions left the types out, and accepted NaT."""
        groups = state["groups"] if state["has_groups"] else []
        return cls(
            state["has_groups"],
            None if state["last_time"] == "NaT" else state["last_time"],
            state.get("group_type") or key_type(groups),
            state.get("key_type") or key_type(keys),
        )

    def and_then(self, rows: StreamRows) -> "Earlier":
        """Return the properties of these rows and further ones."""
        return Earlier(
            rows.groups is not None,
            rows.times[-1] if rows.times else self.last_time,
            self.group_type or key_type(rows.groups or ()),
            self.key_type or key_type(rows.keys or ()),
        )

    def check_groups(self, given: bool) -> None:
        """Raise if rows have groups and earlier ones have not, or the other way round."""
        if self.has_groups is not None and self.has_groups != given:
            raise ValueError(
                f"`groups` must be given always or never; earlier rows came "
                f"{'with' if self.has_groups else 'without'} them. Start another monitor, or pass "
                "them as before."
            )


def check_stream(
    P: ArrayLike,
    y: ArrayLike,
    column_classes: LabelArray,
    groups: ArrayLike | None,
    times: ArrayLike | None,
    keys: ArrayLike | None,
    earlier: Earlier,
) -> StreamRows:
    """Return rows that can follow the earlier ones, or raise; labels may be missing."""
    classes = observed_classes(column_classes)
    earlier.check_groups(groups is not None)
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
        None if groups is None else check_keys("groups", groups, n, earlier.group_type),
        check_times(times, n, earlier.last_time),
        None if keys is None else check_keys("keys", keys, n, earlier.key_type),
    )


def check_labels(y: ArrayLike, n_rows: int, classes: LabelArray) -> IntArray:
    """Index of each label; `MISSING` where there is none: None, NaN, NaT or an empty text."""
    if y is None:
        raise ValueError("`y` is None. Pass a label for each row of `P`, None where it is missing.")
    given = as_label_array(y, "y")
    if given.shape != (n_rows,):
        raise ValueError(
            f"`y` has shape {given.shape}, but `P` has {n_rows} rows. Pass one label for each row, "
            "None where it is missing."
        )
    known = np.ones(n_rows, dtype=bool)
    if given.dtype.kind not in "iub":
        known = np.array(
            [not is_missing(label) and label != "" for label in given.tolist()], dtype=bool
        )
    found = np.full(n_rows, MISSING, dtype=np.int64)
    if not known.any():
        return found
    present = given[known]
    if present.dtype.kind == "O":
        present = as_label_array(present.tolist(), "y")
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


def check_monitored_classes(classes: Iterable[Any]) -> LabelArray:
    """Return at least two distinct labels, all strings, numbers or booleans."""
    labels = check_classes(classes)
    if len(labels) < 2:
        raise ValueError(
            f"`classes` must be at least two distinct labels; got {show(labels)}. Pass the label "
            "of each column of the probabilities."
        )
    # A state can contain what keys can be.
    check_keys("classes", labels)
    return labels
