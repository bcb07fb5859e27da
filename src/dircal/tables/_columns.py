"""Which column of the scores belongs to which label: decided here and nowhere else."""

from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.tables._conversion import NamedScores, as_array, reject_masked, reject_sparse
from dircal.tables._labels import check_classes, show
from dircal.tables._names import (
    label_text,
    like_labels,
    match_exactly,
    match_names,
    match_with_absent,
)

__all__ = [
    "BINARY",
    "FITTING",
    "MEASURING",
    "Arguments",
    "as_column",
    "classes_of_columns",
    "classes_of_two",
    "match_one",
    "reject_ambiguous_columns",
    "two_columns",
]


@dataclass(frozen=True)
class Arguments:
    """Names of the arguments of a caller, what it is, and the remedy for bad scores.

    ``weights`` are the weights of the rows, ``label_column`` names a column of soft labels.
    ``order_fix`` says what to do about columns in another order than they are taken for, with
    their labels at the place of ``{}``. ``row`` and ``column`` name the place of a number, by its
    indices. With ``is_binary`` more than two classes are an error.
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
    if n_columns > len(observed) and _are_class_numbers(observed, n_columns):
        return np.arange(n_columns).astype(observed.dtype)
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


def _are_class_numbers(observed: LabelArray, n_columns: int) -> bool:
    """Whether labels are integers among the numbers of the columns, as networks count classes."""
    is_integer = observed.dtype.kind in "iu"
    return is_integer and len(observed) > 1 and 0 <= observed.min() <= observed.max() < n_columns


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


BINARY = replace(FITTING, caller="a binary calibrator", is_binary=True)

# Probabilities may exceed one by this much, as rounded ones do; they are then taken as one.
_EXCESS = 1e-4


def as_column(X: ArrayLike, name: str = "X") -> ArrayLike:
    """Return a series, or numbers (n,), as one column, and anything else unchanged."""
    if isinstance(X, NamedScores):
        return X
    if type(X) is np.ndarray:
        return X.reshape(-1, 1) if X.ndim == 1 else X
    if nw.dependencies.is_into_series(X):
        series = nw.from_native(X, series_only=True)
        named = isinstance(series.name, str) and series.name != ""
        return series.to_frame().to_native() if named else series.to_numpy().reshape(-1, 1)
    reject_sparse(name, X)
    if nw.dependencies.is_into_dataframe(X):
        return X
    reject_masked(name, X)
    array = as_array(X, name)
    return array.reshape(-1, 1) if array.ndim == 1 else X


def classes_of_two(
    observed: LabelArray,
    classes: Iterable[Any] | None,
    names: LabelArray | None,
    n_columns: int,
    arguments: Arguments,
    categories: LabelArray | None = None,
) -> LabelArray:
    """Return the labels of two columns; of one column, the absent one and its own."""
    scores, labels = arguments.scores, arguments.labels
    if n_columns > 2:
        _reject(f"`{scores}` has {n_columns} columns", arguments)
    if len(observed) > 2:
        _reject(f"`{labels}` holds {len(observed)} classes: {show(observed)}", arguments)
    if isinstance(classes, Sized) and len(classes) > 2:
        _reject(f"`classes` has {len(classes)} labels", arguments)
    if n_columns == 2:
        return classes_of_columns(observed, classes, names, 2, arguments, categories)
    if classes is None and categories is not None and len(categories) == 2:
        classes = categories
    if classes is None and len(observed) < 2:
        raise ValueError(
            f"`{labels}` holds only 1 class: {show(observed)}, and `{scores}` is a single column. "
            f"Pass `classes=[...]`, both labels, with that of the column last."
        )
    pair = observed
    if classes is not None:
        pair = classes_of_columns(observed, classes, None, 2, arguments)
    matched = match_one(names, pair)
    return pair if matched is None else matched


def match_one(names: LabelArray | None, pair: LabelArray) -> LabelArray | None:
    """``pair`` with the label last that a single column is named after; None if it is not.

    'p_yes' and 'yes (%)' are named after 'yes', but 'yesterday' is not, and 'score_0' may be of a
    class or of a model.
    """
    if names is None:
        return None
    name = str(names[0]).strip().casefold()
    found = [_length_in(name, label_text(label).strip().casefold()) for label in pair.tolist()]
    # 'p_not_ill' ends with 'ill' as well: the longer one is meant.
    return None if found[0] == found[1] else pair[np.argsort(found)]


def _length_in(name: str, label: str) -> int:
    """Length of the label that a name is, begins or ends with as a word; zero if it does not."""
    if label.isdecimal():
        return len(label) if name == label else 0
    before, after = name.removesuffix(label), name.removeprefix(label)
    found = (before != name and not before[-1:].isalnum()) or (
        after != name and not after[:1].isalnum()
    )
    return len(label) if found else 0


def _reject(what: str, arguments: Arguments) -> None:
    if not arguments.is_binary:
        raise ValueError(
            f"{what}, but `{arguments.scores}` is a single column, which is enough for two classes "
            "only. Pass a column of scores for each class."
        )
    raise ValueError(
        f"{what}, but this calibrator is for two classes. (Only binary classification is "
        "supported. The type of the target is multiclass.) Put OneVsRestCalibrator(...) around it "
        "for more."
    )


def two_columns(
    column: npt.NDArray[Any],
    weight: FloatArray | None,
    input_scale: InputScale,
    arguments: Arguments = FITTING,
) -> FloatArray:
    """Both columns (n, 2), from that of the positive class (n, 1), which stays as given."""
    values = column[:, 0].astype(np.float64)
    if input_scale == "logit":
        return np.column_stack([np.zeros_like(values), values])
    bad = (values < 0.0) | (values > 1.0 + _EXCESS)
    if weight is not None:
        bad &= weight > 0
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"`{arguments.scores}` is a single column (n_features=1) and must lie between 0 and 1; "
            f"{arguments.row(i)} is {values[i]:.6g}. A single column is the probability of the "
            f"positive class. {arguments.fix} (Negative values in data.)"
        )
    np.minimum(values, 1.0, out=values)
    return np.column_stack([1.0 - values, values])
