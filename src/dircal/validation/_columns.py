"""Which column of the scores belongs to which label: decided here and nowhere else."""

from collections.abc import Callable, Iterable, Mapping, Set, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._typing import LabelArray

__all__ = [
    "FITTING",
    "MEASURING",
    "Arguments",
    "classes_of_columns",
    "label_text",
    "match_names",
    "show",
]


@dataclass(frozen=True)
class Arguments:
    """What a caller calls its scores and labels, what it is, and what to do about bad scores.

    ``row`` and ``column`` say where a number stands, by its indices.
    """

    scores: str
    labels: str
    caller: str
    fix: str
    row: Callable[[int], str] = "row {}".format
    column: Callable[[int], str] = "column {}".format


FITTING = Arguments(
    "X",
    "y",
    "a calibrator",
    "Pass probabilities, or set `input_scale='logit'` if these are logits.",
)
MEASURING = Arguments(
    "y_prob",
    "y_true",
    "a measure",
    "Pass probabilities; if these are logits, take their softmax first.",
)


def classes_of_columns(
    observed: LabelArray,
    classes: Iterable[Any] | None,
    names: LabelArray | None,
    n_columns: int,
    arguments: Arguments,
) -> LabelArray:
    """Label of each column of the scores, in the order of the columns.

    ``observed`` are the labels that occur, ``classes`` those that the user gave, ``names`` those
    of the columns of a data frame.
    """
    if n_columns == 1:
        raise ValueError(
            f"`{arguments.scores}` has 1 feature(s), a single column, but {arguments.caller} needs "
            "one for each class. For two classes pass both: np.column_stack([1 - p, p])."
        )
    if classes is not None:
        given = _given_classes(observed, classes, n_columns, arguments)
        matched = None if names is None else match_names(names, given)
        return given if matched is None else matched
    if names is not None:
        named = _labels_by_name(names, observed, arguments)
        if named is not None:
            return named
    return _observed_classes(observed, n_columns, arguments)


def _given_classes(
    observed: LabelArray, classes: Iterable[Any], n_columns: int, arguments: Arguments
) -> LabelArray:
    ordered = isinstance(classes, Sized) and isinstance(classes, Iterable)
    if not ordered or isinstance(classes, str | Set | Mapping):
        raise ValueError(
            f"`classes` must be a list or an array; got a {type(classes).__name__}. "
            "Pass the label of each column, in the order of the columns."
        )
    given = np.asarray(list(classes))
    if given.ndim != 1 or len(np.unique(given)) != len(given):
        raise ValueError(
            f"`classes` must be distinct labels; got {show(given)}. "
            "Pass the label of each column once."
        )
    if len(given) != n_columns:
        raise ValueError(
            f"`classes` has {len(given)} labels {show(given)}, but `{arguments.scores}` has "
            f"{n_columns} columns. Pass the label of each column, in the order of the columns."
        )
    unknown = [label for label in observed.tolist() if label not in set(given.tolist())]
    if unknown:
        raise ValueError(
            f"`{arguments.labels}` holds the label {unknown[0]!r}, which is not among `classes` "
            f"{show(given)}. Add a column for it to `{arguments.scores}` and name it in `classes`, "
            "or drop its rows."
        )
    return given


def _observed_classes(observed: LabelArray, n_columns: int, arguments: Arguments) -> LabelArray:
    if n_columns > len(observed):
        raise ValueError(
            f"`{arguments.scores}` has {n_columns} columns, but `{arguments.labels}` holds only "
            f"{len(observed)} class(es): {show(observed)}. Pass `classes=[...]`, the label of "
            "each column, so that it is clear which class is absent."
        )
    if n_columns < len(observed):
        raise ValueError(
            f"`{arguments.scores}` has {n_columns} columns, but `{arguments.labels}` holds "
            f"{len(observed)} classes: {show(observed)}. Pass a column of scores for each class."
        )
    return observed


def label_text(label: object) -> str:
    """A label as a column would be named after it: 1.0 is '1'."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def match_names(names: LabelArray, labels: LabelArray) -> LabelArray | None:
    """``labels`` in the order of the columns called like them; None if they are not."""
    by_text = {label_text(label): i for i, label in enumerate(labels.tolist())}
    positions = [by_text.get(str(name)) for name in names]
    if None in positions or len(set(positions)) != len(labels):
        return None
    matched: LabelArray = labels[np.array(positions)]
    return matched


def _labels_by_name(
    names: LabelArray, observed: LabelArray, arguments: Arguments
) -> LabelArray | None:
    """Labels that the columns of a data frame are named after; None if they are not.

    Every observed label must be the name of a column. Columns beyond those name absent classes;
    for labels 1 and 2, columns called '1', '2' and '3' say that the third label is 3, not '3'.
    """
    matched = match_names(names, observed)
    if matched is not None:
        return matched
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts) or not {
        label_text(label) for label in observed.tolist()
    } <= set(texts):
        _refuse_half_a_match(texts, observed, arguments)
        return None
    if observed.dtype.kind in "iu":
        whole = all(text.lstrip("-").isdecimal() for text in texts)
        return np.array([int(text) for text in texts]) if whole else None
    return np.array(texts, dtype=object) if observed.dtype.kind in "UO" else None


def _refuse_half_a_match(texts: list[str], observed: LabelArray, arguments: Arguments) -> None:
    """Raise where some columns are named after labels and others are not: the order is a guess."""
    labels = {label_text(label) for label in observed.tolist()}
    strangers = [text for text in texts if text not in labels]
    if len(strangers) < len(texts):
        raise ValueError(
            f"`{arguments.scores}` has columns named after labels in `{arguments.labels}`, but "
            f"also {strangers[0]!r}, which is none; the labels are {show(observed)}. Name every "
            f"column after its label, pass `classes=[...]`, or pass "
            f"`{arguments.scores}.to_numpy()` to go by position."
        )


def show(labels: LabelArray) -> str:
    """A few labels, for a message."""
    shown = [repr(label) for label in labels[:6].tolist()]
    return "[" + ", ".join([*shown, "..."] if len(labels) > 6 else shown) + "]"
