"""The door for a table in parts: each is checked by itself, and then they have to agree."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.exceptions import RowSumWarning, warn
from dircal.tables._arrays import as_matrix, worst_row_sum
from dircal.tables._columns import Arguments, classes_of_columns
from dircal.tables._conversion import category_order
from dircal.tables._label_types import as_label_array, check_classes
from dircal.tables._labelled_scores import LabelledScores
from dircal.tables._labels import as_labels, class_indices, observed_classes
from dircal.tables._numbers import WorstSum
from dircal.tables._soft_labels import SoftReading, SoftSummary
from dircal.tables._two_classes import classes_of_two, two_columns
from dircal.tables._weights import as_weight, check_total_weight

__all__ = ["Agreement", "PartSummary", "RawPart", "agree", "check_part", "common_labels"]


@dataclass(frozen=True)
class RawPart:
    """Rows of a part as arrays, before the classes are known.

    ``labels`` are one for each row, or soft ones (n, k) with columns in the order of the scores.
    """

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
        """Make a part of a table, of one row at least."""
        inputs, names = as_matrix(scores, arguments.scores)
        is_soft = getattr(labels, "ndim", 1) == 2
        return cls(
            inputs,
            names,
            labels if is_soft else as_labels(labels, len(inputs), arguments),
            None if weight is None else as_weight(weight, len(inputs), arguments),
            None if is_soft else category_order(labels),
            arguments.row,
        )

    @property
    def n_bytes(self) -> int:
        """What the scores take as they are computed with."""
        return int(self.inputs.size) * np.dtype(np.float64).itemsize

    def assign(self, classes: "Agreement", input_scale: InputScale) -> LabelledScores:
        """Assign every column to its class."""
        inputs, weight, targets = self.inputs, self.weight, None
        if classes.n_features == 1:
            inputs = two_columns(inputs, weight, input_scale)
        if classes.soft is None:
            labels = class_indices(self.labels, classes.classes)
        else:
            in_order = self.labels[:, np.argsort(classes.label_order)]
            labels, targets, weight = classes.soft.read(in_order, weight)
        return LabelledScores(
            inputs,
            labels,
            weight,
            classes.classes,
            classes.column_classes,
            classes.feature_names,
            classes.n_features,
            targets=targets,
        )


@dataclass(frozen=True)
class PartSummary:
    """Facts about a part that all parts have to agree on.

    ``n_left_out`` rows have no label; ``error`` is the reason why the part is invalid.
    """

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
    soft: SoftSummary | None = None
    n_left_out: int = 0
    error: str = ""


def check_part(raw: RawPart, input_scale: InputScale, arguments: Arguments) -> PartSummary:
    """Raise unless values are probabilities or logits, and summarise the part."""
    inputs, weight = raw.inputs, raw.weight
    soft = None
    if raw.labels.ndim == 2:
        soft = SoftSummary.of(raw.labels, weight, arguments)
    whole = two_columns(inputs, weight, input_scale) if inputs.shape[1] == 1 else inputs
    worst = worst_row_sum(whole, weight, input_scale, arguments)
    used = raw.labels if weight is None else raw.labels[weight > 0]
    has_classes = soft is None and len(used) > 0
    return PartSummary(
        len(inputs),
        raw.n_bytes,
        float(len(inputs) if weight is None else weight.sum()),
        inputs.shape[1],
        raw.names,
        observed_classes(used) if has_classes else None,
        raw.categories,
        worst,
        inputs.dtype,
        weight is not None,
        soft,
    )


@dataclass(frozen=True)
class Agreement:
    """What all parts have in common; see `LabelledScores` for the names.

    ``soft`` is the reading of soft labels, whose columns have the labels ``label_order``.
    """

    classes: LabelArray
    column_classes: LabelArray
    feature_names: LabelArray | None
    n_features: int
    n_rows: int
    total_weight: float
    dtype: np.dtype[Any]
    is_weighted: bool
    soft: SoftReading | None = None
    label_order: LabelArray | None = None


def agree(
    parts: Sequence[PartSummary], classes: Iterable[Any] | None, arguments: Arguments
) -> Agreement:
    """Assign columns to classes, given the summaries of all parts."""
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
    check_total_weight(total, arguments)
    names, n_features = full[0].names, full[0].n_columns
    soft, label_order = None, None
    summaries = [part.soft for part in full if part.soft is not None]
    if summaries:
        soft = SoftReading.agree(summaries, arguments)
        total = soft.n_annotators if soft.are_counts else total
        assert classes is not None
        classes = check_classes(classes)
        observed = classes[:0]
    else:
        of_parts = [part.observed for part in full if part.observed is not None]
        observed = common_labels(of_parts, arguments)
    told = _common_categories(full)
    if arguments.is_binary:
        column_classes = classes_of_two(observed, classes, names, n_features, told)
    else:
        column_classes = classes_of_columns(observed, classes, names, n_features, arguments, told)
    if soft is not None:
        label_order = column_classes if n_features > 1 else classes
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
        any(part.is_weighted for part in full) or (soft is not None and soft.are_counts),
        soft,
        label_order,
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
