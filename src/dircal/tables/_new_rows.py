"""Which column of rows to be calibrated belongs to which label of the fit."""

import numpy as np

from dircal._typing import LabelArray
from dircal.tables._columns import FITTING, refuse_riddles
from dircal.tables._label_types import show
from dircal.tables._names import match_exactly, match_names
from dircal.tables._two_classes import match_one

__all__ = ["columns_of_new_rows"]


def columns_of_new_rows(
    names: LabelArray | None,
    column_classes: LabelArray,
    n_features: int,
    feature_names: LabelArray | None,
) -> LabelArray:
    """Label of each column of new rows, by their names where these tell."""
    if names is None:
        return column_classes
    exact, near = (match_one,) * 2 if n_features == 1 else (match_exactly, match_names)
    matched = exact(names, column_classes)
    if matched is not None:
        return matched
    if feature_names is None:
        matched = near(names, column_classes)
        if matched is None and n_features > 1:
            refuse_riddles(names, column_classes, FITTING)
        return column_classes if matched is None else matched
    if np.array_equal(names, feature_names):
        return column_classes
    # Names that are like labels tell only if those of the fit did.
    then, now = near(feature_names, column_classes), near(names, column_classes)
    if then is None or now is None or not np.array_equal(then, column_classes):
        raise ValueError(
            f"`X` has columns named {show(names)}, but the calibrator was fitted on columns named "
            f"{show(feature_names)}. Select and order the columns as in `fit`."
        )
    return now
