"""Doubt about the order of columns, where only the numbers can tell."""

import numpy as np

from dircal._core.stats.column_order import BetterOrder, better_order
from dircal._typing import InputScale, LabelArray
from dircal.exceptions import ColumnOrderWarning, warn
from dircal.tables._columns import Arguments
from dircal.tables._labelled_scores import LabelledScores

__all__ = ["order_in_doubt", "warn_of_order"]


def warn_of_order(data: LabelledScores, input_scale: InputScale, arguments: Arguments) -> None:
    """Warn where the labels fit another order of the columns far better, and name it."""
    found = _better_order(data, input_scale)
    if found is None:
        return
    fix = arguments.order_fix.format(_in_order(data, found).tolist())
    warn(
        f"The labels in `{arguments.labels}` fit another order of the columns of "
        f"`{arguments.scores}` far better: as they are taken, the largest score of a row is that "
        f"of its label in {found.accuracy:.0%} of the rows, in that order in "
        f"{found.better_accuracy:.0%}. If the columns are in that order, {fix}. If not, the "
        "classifier takes these classes for each other.",
        ColumnOrderWarning,
    )


def order_in_doubt(data: LabelledScores, input_scale: InputScale) -> LabelArray | None:
    """The classes (k,) in the order of columns that the labels fit far better; None if none is."""
    found = _better_order(data, input_scale)
    return None if found is None else _in_order(data, found)


def _in_order(data: LabelledScores, found: BetterOrder) -> LabelArray:
    """The label that each column has in the order that was found."""
    classes = data.column_classes.copy()
    classes[found.columns] = data.column_classes
    return classes


def _better_order(data: LabelledScores, input_scale: InputScale) -> BetterOrder | None:
    # The labels are numbers of sorted classes; here they are columns.
    column_of_class = np.argsort(data.column_classes)
    own = column_of_class[data.labels]
    if data.sample_weight is not None:
        own = np.where(data.sample_weight > 0, own, -1)
    if data.targets is not None:
        # Rows whose soft labels leave the most probable one open say nothing.
        most = data.targets.max(axis=1)
        own = np.where((data.targets == most[:, None]).sum(axis=1) == 1, own, -1)
    return better_order(data.rows, own, data.shape[1], is_probability=input_scale == "probability")
