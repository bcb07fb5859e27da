"""Which column of the scores belongs to which label: decided here and nowhere else."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dircal._typing import LabelArray
from dircal.tables._label_types import check_classes, show
from dircal.tables._names import (
    like_labels,
    match_exactly,
    match_names,
    match_with_absent,
)

__all__ = [
    "FITTING",
    "MEASURING",
    "Arguments",
    "classes_of_columns",
    "reject_ambiguous_columns",
]


@dataclass(frozen=True)
class Arguments:
    """Names of the arguments of a caller, what it is, and the remedy for bad scores.

    ``weights`` are the weights of the rows, ``label_column`` names a column of soft labels.
    ``order_fix`` says what to do about columns in another order than they are taken for, with
    their labels at the place of ``{}``. ``row`` and ``column`` name the place of a number, by its
    indices. With ``is_binary`` there are two classes, and one column may stand for both.
    """

    scores: str
    labels: str
    caller: str
    fix: str
    order_fix: str = "pass `classes={}`, or give a data frame these names"
    row: Callable[[int], str] = "row {}".format
    column: Callable[[int], str] = "column {}".format
    is_binary: bool = False
    weights: str = "sample_weight"
    label_column: Callable[[int], str] = "column {}".format


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
    categories: LabelArray | None = None,
) -> LabelArray:
    """Label of each column of the scores, in the order of the columns.

    ``observed`` are the labels that occur, ``classes`` those that the user gave, ``names`` those
    of the columns of a data frame, ``categories`` the labels in an order of their own.
    """
    if n_columns == 1:
        raise ValueError(
            f"`{arguments.scores}` has 1 feature(s), a single column, but {arguments.caller} needs "
            "one for each class. For two classes pass both: np.column_stack([1 - p, p])."
        )
    if classes is not None:
        given = _given_classes(observed, classes, n_columns, arguments)
        # What the user says outdoes names that are only like labels.
        matched = None if names is None else match_exactly(names, given)
        return given if matched is None else matched
    if names is not None:
        named = _labels_by_name(names, observed, arguments)
        if named is not None:
            return named
    if categories is not None:
        known = {*observed.tolist()}
        for ordered in (categories, categories[[one in known for one in categories.tolist()]]):
            if len(ordered) == n_columns:
                return ordered
    return _observed_classes(observed, n_columns, arguments)


def _given_classes(
    observed: LabelArray, classes: Iterable[Any], n_columns: int, arguments: Arguments
) -> LabelArray:
    given = check_classes(classes)
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


def reject_ambiguous_columns(names: LabelArray, labels: LabelArray, arguments: Arguments) -> None:
    """Raise where columns match no labels, but some seem to be called after one: a guess."""
    like = like_labels(names, labels)
    if not like:
        return
    strangers = [str(name) for i, name in enumerate(names) if i not in like]
    what = f"also {strangers[0]!r}, which is none" if strangers else "not one for each label"
    raise ValueError(
        f"`{arguments.scores}` has columns named after labels in `{arguments.labels}`, or nearly "
        f"so, but {what}; the columns are {show(names)}, the labels {show(labels)}. Name every "
        f"column after its label, pass `classes=[...]`, or pass `{arguments.scores}.to_numpy()` to "
        "go by position."
    )


def _labels_by_name(
    names: LabelArray, observed: LabelArray, arguments: Arguments
) -> LabelArray | None:
    """Labels that the columns of a data frame are named after; None if they are not.

    Every observed label must be the name of a column. Columns beyond those name absent classes.
    """
    matched = match_names(names, observed)
    if matched is None:
        matched = match_with_absent(names, observed)
    if matched is None:
        reject_ambiguous_columns(names, observed, arguments)
    return matched
