"""Two classes in one column: probabilities, or log-odds, of the positive class."""

from collections.abc import Iterable, Sized
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.tables._columns import FITTING, classes_of_columns
from dircal.tables._conversion import NamedScores, as_array, reject_masked, reject_sparse
from dircal.tables._label_types import show
from dircal.tables._names import label_text

__all__ = ["BINARY", "as_column", "classes_of_two", "match_one", "two_columns"]

BINARY = replace(FITTING, caller="a binary calibrator", is_binary=True)

# Probabilities may exceed one by this much, as rounded ones do; they are then taken as one.
_EXCESS = 1e-4


def as_column(X: ArrayLike) -> ArrayLike:
    """A series, or numbers (n,), as one column; anything else as it is."""
    if isinstance(X, NamedScores):
        return X
    if nw.dependencies.is_into_series(X):
        series = nw.from_native(X, series_only=True)
        named = isinstance(series.name, str) and series.name != ""
        return series.to_frame().to_native() if named else series.to_numpy().reshape(-1, 1)
    reject_sparse("X", X)
    if nw.dependencies.is_into_dataframe(X):
        return X
    reject_masked("X", X)
    array = as_array(X, "X")
    return array.reshape(-1, 1) if array.ndim == 1 else X


def classes_of_two(
    observed: LabelArray,
    classes: Iterable[Any] | None,
    names: LabelArray | None,
    n_columns: int,
    categories: LabelArray | None = None,
) -> LabelArray:
    """Labels of the two columns, or of the absent and the present one if there is one column."""
    if n_columns > 2:
        _reject(f"`X` has {n_columns} columns")
    if len(observed) > 2:
        _reject(f"`y` holds {len(observed)} classes: {show(observed)}")
    if isinstance(classes, Sized) and len(classes) > 2:
        _reject(f"`classes` has {len(classes)} labels")
    if n_columns == 2:
        return classes_of_columns(observed, classes, names, 2, BINARY, categories)
    if classes is None and categories is not None and len(categories) == 2:
        classes = categories
    if classes is None and len(observed) < 2:
        raise ValueError(
            f"`y` holds only 1 class: {show(observed)}, and `X` is a single column. Pass "
            "`classes=[...]`, the two labels, the one that `X` speaks of last."
        )
    pair = observed if classes is None else classes_of_columns(observed, classes, None, 2, BINARY)
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


def _reject(what: str) -> None:
    raise ValueError(
        f"{what}, but this calibrator is for two classes. (Only binary classification is "
        "supported. The type of the target is multiclass.) Put OneVsRestCalibrator(...) around it "
        "for more."
    )


def two_columns(
    column: npt.NDArray[Any], weight: FloatArray | None, input_scale: InputScale
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
            f"`X` is a single column and must lie between 0 and 1; row {i} is {values[i]:.6g}. "
            "Pass probabilities of the positive class, or set `input_scale='logit'` if these are "
            "log-odds. (Negative values in data.)"
        )
    np.minimum(values, 1.0, out=values)
    return np.column_stack([1.0 - values, values])
