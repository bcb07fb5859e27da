"""Labels of a batch, and the rows that have one."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import LabelArray
from dircal.tables._batches import BatchRows
from dircal.tables._column_choice import Wording
from dircal.tables._conversion import as_array
from dircal.tables._label_types import is_missing
from dircal.tables._limits import LIMITS
from dircal.tables._soft_labels import as_counts_if_whole
from dircal.tables._values import as_matrix

__all__ = [
    "KnownLabels",
    "LabelReader",
    "as_plain_integers",
    "empty_labels",
    "parse_whole_numbers",
]

# 007 is a name, and more digits than this do not fit an integer.
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.0+)?")


@dataclass(frozen=True)
class KnownLabels:
    """Labels of a batch: those of the rows of which one ``is_known`` (n,)."""

    labels: Any
    is_known: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, labels: Any, is_known: npt.NDArray[np.bool_]) -> "KnownLabels":
        """Leave out the labels that are missing."""
        if not is_known.all():
            labels = as_plain_integers(as_array(labels)[is_known])
        return cls(labels, is_known)

    @property
    def kept(self) -> npt.NDArray[np.intp] | None:
        """The rows that have a label; None if all have."""
        return None if self.is_known.all() else np.flatnonzero(self.is_known)


@dataclass(frozen=True)
class LabelReader:
    """Reads the labels of batches.

    Parameters
    ----------
    columns : str or tuple of str
        Column with the labels, or those with soft labels in the order of the scores.
    skip_unlabelled : bool
        Whether rows without a label are left out.
    words : Wording
        Names of the options in messages.
    """

    columns: str | tuple[str, ...]
    skip_unlabelled: bool
    words: Wording

    def read(self, rows: BatchRows, name: str = "labels") -> KnownLabels:
        """Take the labels of a batch; those that are missing are left out, or an error."""
        if not isinstance(self.columns, str):
            columns = [as_array(rows.others[column]) for column in self.columns]
            return self.read_soft(as_matrix(np.column_stack(columns), name)[0])
        labels, place = rows.others[self.columns], rows.place
        missing = empty_labels(labels)
        if missing.any() and not self.skip_unlabelled:
            raise ValueError(
                f"{place(int(missing.argmax()))}, column {self.columns!r} is empty. Leave out the "
                f"rows without a label{self.words.skip and f', or pass {self.words.skip}'}."
            )
        _check_length(labels, place, self.columns)
        return KnownLabels.of(labels, ~missing)

    def read_soft(self, numbers: npt.NDArray[Any]) -> KnownLabels:
        """Leave out rows without a soft label: all zero, or empty if such rows are left out."""
        known = np.nan_to_num(numbers) if self.skip_unlabelled else numbers
        is_known = (known != 0.0).any(axis=1)
        return KnownLabels(as_counts_if_whole(numbers[is_known]), is_known)


def as_plain_integers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as integers if they are objects because some were missing."""
    if labels.dtype.kind == "O" and set(map(type, labels.tolist())) == {int}:
        return np.array(labels.tolist())
    return labels


def _check_length(values: Any, place: Callable[[int], str], label: str) -> None:
    """Raise if a label is too long: every label of an array takes as much as the longest."""
    array, limit = as_array(values), LIMITS.text_length
    for row, value in enumerate(array.tolist() if array.dtype.kind == "O" else ()):
        if isinstance(value, str) and len(value) > limit:
            raise ValueError(
                f"{place(row)}, column {label!r} contains a label of {len(value):,} characters; at "
                f"most {limit:,} are read. Check which column has the labels."
            )


def empty_labels(values: Any) -> npt.NDArray[np.bool_]:
    """Which labels are missing: empty strings, None, NaN and NaT."""
    array = as_array(values)
    if array.dtype.kind in "US":
        return np.asarray(np.char.str_len(np.char.strip(array)) == 0)
    if array.dtype.kind == "O":
        return np.array([not x.strip() if isinstance(x, str) else is_missing(x) for x in array])
    # NaN and NaT differ from themselves.
    return np.asarray(array != array)


def parse_whole_numbers(texts: Any) -> LabelArray | None:
    """Return integers if all strings are such; None otherwise."""
    distinct, inverse = np.unique(texts, return_inverse=True)
    if not all(_WHOLE_NUMBER.fullmatch(text) for text in distinct.tolist()):
        return None
    return np.array([int(text.partition(".")[0]) for text in distinct.tolist()])[inverse]
