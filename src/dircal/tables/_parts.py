"""The door for a table in parts: each is checked by itself, and then they have to agree."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.exceptions import RowSumWarning, warn
from dircal.tables._arrays import WorstSum, as_matrix, worst_row_sum
from dircal.tables._columns import Arguments, classes_of_columns
from dircal.tables._conversion import category_order
from dircal.tables._label_types import as_label_array
from dircal.tables._labelled_scores import LabelledScores
from dircal.tables._labels import as_labels, class_indices, observed_classes
from dircal.tables._two_classes import classes_of_two, two_columns
from dircal.tables._weights import as_weight, check_total_weight

__all__ = ["Agreement", "PartSummary", "RawPart", "agree", "check_part", "common_labels"]


@dataclass(frozen=True)
class RawPart:
    """Rows of a part as arrays, before it is known which classes there are."""

    inputs: npt.NDArray[Any]
    names: LabelArray | None
    labels: LabelArray
    weight: FloatArray | None
    categories: LabelArray | None
    place: Callable[[int], str]

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        weight: ArrayLike | None,
        arguments: Arguments,
    ) -> "RawPart":
        """A part of a table; one row at least."""
        inputs, names = as_matrix(scores, arguments.scores)
        return cls(
            inputs,
            names,
            as_labels(labels, len(inputs), arguments),
            None if weight is None else as_weight(weight, len(inputs), arguments.row),
            category_order(labels),
            arguments.row,
        )

    @property
    def n_bytes(self) -> int:
        """What the scores take as they are computed with."""
        return int(self.inputs.size) * np.dtype(np.float64).itemsize

    def assign(self, classes: "Agreement", input_scale: InputScale) -> LabelledScores:
        """The rows, with every column assigned to its class."""
        inputs = self.inputs
        if classes.n_features == 1:
            inputs = two_columns(inputs, self.weight, input_scale)
        return LabelledScores(
            inputs,
            class_indices(self.labels, classes.classes),
            self.weight,
            classes.classes,
            classes.column_classes,
            classes.feature_names,
            classes.n_features,
        )


@dataclass(frozen=True)
class PartSummary:
    """What has to be known of a part to put it beside others; ``error`` says why it cannot be."""

    n_rows: int = 0
    n_bytes: int = 0
    total_weight: float = 0.0
    n_columns: int = 0
    names: LabelArray | None = None
    observed: LabelArray | None = None
    categories: LabelArray | None = None
    worst: WorstSum | None = None
    dtype: np.dtype[Any] | None = None
    is_weighted: bool = False
    error: str = ""


def check_part(raw: RawPart, input_scale: InputScale, arguments: Arguments) -> PartSummary:
    """Refuse values that are neither probabilities nor logits, and tell what there is."""
    inputs, weight = raw.inputs, raw.weight
    whole = two_columns(inputs, weight, input_scale) if inputs.shape[1] == 1 else inputs
    worst = worst_row_sum(whole, weight, input_scale, arguments)
    used = raw.labels if weight is None else raw.labels[weight > 0]
    return PartSummary(
        len(inputs),
        raw.n_bytes,
        float(len(inputs) if weight is None else weight.sum()),
        inputs.shape[1],
        raw.names,
        observed_classes(used) if len(used) else None,
        raw.categories,
        worst,
        inputs.dtype,
        weight is not None,
    )


@dataclass(frozen=True)
class Agreement:
    """What all parts have in common; see `LabelledScores` for the names."""

    classes: LabelArray
    column_classes: LabelArray
    feature_names: LabelArray | None
    n_features: int
    n_rows: int
    total_weight: float
    dtype: np.dtype[Any]
    is_weighted: bool


def agree(
    parts: Sequence[PartSummary], classes: Iterable[Any] | None, arguments: Arguments
) -> Agreement:
    """Which column belongs to which class, from what is known of all parts."""
    first_error = next((part.error for part in parts if part.error), None)
    if first_error is not None:
        raise ValueError(first_error)
    full = [part for part in parts if part.n_rows > 0]
    if not full:
        raise ValueError(
            f"`{arguments.scores}` is empty: none of its {len(parts)} part(s) has a row. "
            "Check how the table was selected."
        )
    total = sum(part.total_weight for part in full)
    check_total_weight(total)
    of_parts = [part.observed for part in full if part.observed is not None]
    observed = common_labels(of_parts, arguments)
    names, n_features = full[0].names, full[0].n_columns
    told = _common_categories(full)
    if arguments.is_binary:
        column_classes = classes_of_two(observed, classes, names, n_features, told)
    else:
        column_classes = classes_of_columns(observed, classes, names, n_features, arguments, told)
    worst = max((part.worst for part in full if part.worst), key=lambda each: each.miss)
    if worst.warning:
        warn(worst.warning, RowSumWarning)
    return Agreement(
        np.sort(column_classes),
        column_classes,
        names,
        n_features,
        sum(part.n_rows for part in full),
        total,
        np.result_type(*(part.dtype for part in full if part.dtype is not None)),
        any(part.is_weighted for part in full),
    )


def common_labels(parts: Sequence[LabelArray], arguments: Arguments) -> LabelArray:
    """The distinct labels of all parts, sorted."""
    if len({part.dtype.kind for part in parts}) == 1:
        joined = np.concatenate(parts)
    else:
        joined = as_label_array([label for part in parts for label in part], arguments.labels)
    return observed_classes(as_labels(joined, len(joined), arguments))


def _common_categories(parts: Sequence[PartSummary]) -> LabelArray | None:
    """Categories in the order that all parts have them; None where they differ."""
    first = parts[0].categories
    if first is None:
        return None
    same = all(
        part.categories is not None and np.array_equal(part.categories, first) for part in parts
    )
    return first if same else None
