"""Doubt about the order of columns, where only the numbers can tell."""

import numpy as np

from dircal._core.stats.column_order import better_order
from dircal._typing import InputScale
from dircal.exceptions import ColumnOrderWarning, warn
from dircal.validation._columns import Arguments
from dircal.validation._labelled_scores import LabelledScores

__all__ = ["warn_of_order"]


def warn_of_order(data: LabelledScores, input_scale: InputScale, arguments: Arguments) -> None:
    """Warn where the labels fit another order of the columns far better, and name it."""
    # The labels are numbers of sorted classes; here they are columns.
    column_of_class = np.argsort(data.column_classes)
    own = column_of_class[data.labels]
    if data.sample_weight is not None:
        own = np.where(data.sample_weight > 0, own, -1)
    found = better_order(data.rows, own, data.shape[1], is_probability=input_scale == "probability")
    if found is None:
        return
    classes = data.column_classes.copy()
    classes[found.columns] = data.column_classes
    fix = arguments.order_fix.format(classes.tolist())
    warn(
        f"The labels in `{arguments.labels}` fit another order of the columns of "
        f"`{arguments.scores}` far better: as they are taken, the largest score of a row is that "
        f"of its label in {found.accuracy:.0%} of the rows, in that order in "
        f"{found.better_accuracy:.0%}. If the columns are in that order, {fix}. If not, the "
        "classifier takes these classes for each other.",
        ColumnOrderWarning,
    )
