"""Logits, and classes that a logit of minus infinity masks."""

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import row_slices
from dircal.tables._columns import Arguments
from dircal.tables._labelled_scores import LabelledScores
from dircal.tables._numbers import LARGEST

__all__ = ["check_labels_left", "check_logits", "refuse_entry"]


def check_logits(block: npt.NDArray[Any], first_row: int, arguments: Arguments) -> None:
    """Refuse logits that nothing can be computed from, and rows in which all classes are masked.

    ``block`` (m, k) are rows from ``first_row`` on.
    """
    low, high = float(block.min()), float(block.max())
    if low >= -LARGEST and high <= LARGEST:
        return
    bad = np.isnan(block) | (block == np.inf)
    if bad.any():
        refuse_entry(block, bad, first_row, arguments)
    masked = block == -np.inf
    none_left = masked.all(axis=1)
    if none_left.any():
        row = arguments.row(first_row + int(none_left.argmax()))
        raise ValueError(
            f"`{arguments.scores}` must leave a class in each row; in {row} every logit is -inf, "
            "which masks its class. Leave such rows out."
        )
    largest = float(np.abs(block[~masked]).max())
    if largest > LARGEST:
        raise ValueError(
            f"`{arguments.scores}` holds a logit of magnitude {largest:.3g}; "
            f"at most {LARGEST:g} can be computed with. Check the units."
        )


def refuse_entry(
    block: npt.NDArray[Any], bad: npt.NDArray[np.bool_], first_row: int, arguments: Arguments
) -> NoReturn:
    """Raise a ValueError about the first entry that is bad."""
    i, j = np.argwhere(bad)[0]
    raise ValueError(
        f"`{arguments.scores}` must be finite; {arguments.row(first_row + i)}, "
        f"{arguments.column(j)} is {block[i, j]} "
        f"(Input {arguments.scores} contains NaN or infinity). Remove such rows or repair them."
    )


def check_labels_left(data: LabelledScores, arguments: Arguments) -> None:
    """Refuse rows of a fit whose own class is masked: no map can give it a probability."""
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
