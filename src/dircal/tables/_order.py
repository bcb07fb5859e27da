"""Labels that do not fit the scores: columns in another order, and classes that are masked."""

import numpy as np

from dircal._core.data.chunks import row_slices
from dircal._core.stats.column_order import BetterOrder, better_order
from dircal._typing import InputScale, LabelArray
from dircal.exceptions import ColumnOrderWarning, warn
from dircal.tables._columns import Arguments
from dircal.tables._labelled_rows import ArrayRows, LabelledRows
from dircal.tables._limits import LIMITS

__all__ = ["check_labels_fit", "find_better_order", "warn_column_order"]


def check_labels_fit(
    data: LabelledRows,
    input_scale: InputScale,
    arguments: Arguments,
    *,
    order_is_known: bool,
) -> None:
    """Warn if labels fit another order of columns; raise if the class of a row is masked."""
    # First, since columns in another order also mask labels.
    if not order_is_known:
        warn_column_order(data.sample(LIMITS.judged_rows), input_scale, arguments)
    if input_scale == "logit":
        data.check(check_labels_left, arguments)


def warn_column_order(data: ArrayRows, input_scale: InputScale, arguments: Arguments) -> None:
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


def find_better_order(data: ArrayRows, input_scale: InputScale) -> LabelArray | None:
    """The classes (k,) in the order of columns that the labels fit far better; None if none is."""
    found = _better_order(data, input_scale)
    return None if found is None else _in_order(data, found)


def _in_order(data: ArrayRows, found: BetterOrder) -> LabelArray:
    """The label that each column has in the order that was found."""
    classes = data.column_classes.copy()
    classes[found.columns] = data.column_classes
    return classes


def _better_order(data: ArrayRows, input_scale: InputScale) -> BetterOrder | None:
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


def check_labels_left(data: ArrayRows, arguments: Arguments) -> None:
    """Raise if the own class of a row is masked: no map can return a probability for it."""
    order = np.argsort(data.column_classes)
    for part in row_slices(data.shape):
        block, labels = data.rows(part), data.labels[part]
        if data.targets is not None:
            # Of the classes that are masked the one that is most probable, if any is.
            of_masked = np.where(block[:, order] == -np.inf, data.targets[part], 0.0)
            labels = of_masked.argmax(axis=1)
            masked = of_masked.max(axis=1) > 0.0
        else:
            masked = block[np.arange(len(labels)), order[labels]] == -np.inf
        if data.sample_weight is not None:
            masked &= data.sample_weight[part] > 0
        if masked.any():
            i = int(masked.argmax())
            label = data.classes.tolist()[labels[i]]
            raise ValueError(
                f"`{arguments.labels}` holds {label!r} for {arguments.row(part.start + i)}, where "
                f"`{arguments.scores}` masks this class with a logit of -inf. No map can give it a "
                "probability: repair the mask, the label or the order of the columns, or leave the "
                "row out. If these are logarithms of probabilities with zeros, pass the "
                "probabilities, whose zeros are clipped."
            )
