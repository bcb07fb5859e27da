"""Validation: a batch of rows is checked by itself, and all batches have to agree.

Arrays are a table of one batch.
"""

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.parts import AbstractParts
from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.tables._columns import (
    FITTING,
    Arguments,
    classes_of_columns,
    classes_of_two,
    two_columns,
)
from dircal.tables._conversion import as_array, category_order, reject_masked
from dircal.tables._labelled_rows import ArrayRows, PartitionedRows
from dircal.tables._labels import as_label_array, as_labels, class_indices, observed_classes
from dircal.tables._numbers import LARGEST, reject_datetimes
from dircal.tables._soft_labels import SoftReading, SoftSummary, as_soft_table, has_label_columns
from dircal.tables._values import RowSum, as_matrix, worst_row_sum

__all__ = ["Agreement", "PartSummary", "RawRows", "agree", "check_weight", "common_labels"]


@dataclass(frozen=True)
class RawRows:
    """Rows of a batch as arrays, before the classes are known.

    Parameters
    ----------
    inputs : array (n, k)
        Scores.
    names : array (k,) or None
        Names of the columns of a data frame.
    labels : array (n,) or (n, k)
        Labels; soft ones have a column for each class.
    label_names : array (k,) or None
        Names of the columns of soft labels.
    weight : array (n,) or None
        Weights.
    categories : array or None
        Labels in the order of their categories.
    arguments : Arguments
        Names for messages.
    """

    inputs: npt.NDArray[Any]
    names: LabelArray | None
    labels: LabelArray
    label_names: LabelArray | None
    weight: FloatArray | None
    categories: LabelArray | None
    arguments: Arguments

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        weight: ArrayLike | None,
        arguments: Arguments,
        *,
        counts: bool = False,
    ) -> "RawRows":
        """Check the shape and the types of at least one row; see `check_fit` for ``counts``."""
        inputs, names = as_matrix(scores, arguments.scores)
        n, label_names = len(inputs), None
        weight = None if weight is None else _as_weight(weight, n, arguments)
        categories = category_order(labels)
        if has_label_columns(labels, arguments, counts=counts):
            labels, label_names = as_soft_table(labels, weight, n, arguments)
        else:
            labels = as_labels(labels, n, arguments)
        return cls(inputs, names, labels, label_names, weight, categories, arguments)

    @property
    def n_bytes(self) -> int:
        """Bytes of the scores as they are computed with."""
        return int(self.inputs.size) * np.dtype(np.float64).itemsize

    def summary(self, arguments: Arguments) -> "PartSummary":
        """Summarise the rows, whose values are not checked."""
        weight, soft, observed, total = self.weight, None, None, float(len(self.inputs))
        if weight is not None:
            with np.errstate(over="ignore"):
                total = float(weight.sum())
        if self.labels.ndim == 2:
            soft = SoftSummary.of(self.labels, self.label_names, weight, arguments)
        else:
            # Rows of weight zero may have a label of no class.
            used = self.labels if weight is None else self.labels[weight > 0]
            observed = observed_classes(used) if len(used) else None
        return PartSummary(
            len(self.inputs),
            self.n_bytes,
            total,
            self.inputs.shape[1],
            self.names,
            observed,
            self.categories,
            self.inputs.dtype,
            weight is not None,
            soft,
        )

    def worst_sum(self, input_scale: InputScale, arguments: Arguments) -> RowSum:
        """Raise unless values are probabilities or logits; compare the sums of rows with one."""
        inputs = self.inputs
        if inputs.shape[1] == 1:
            inputs = two_columns(inputs, self.weight, input_scale, arguments)
        return worst_row_sum(inputs, self.weight, input_scale, arguments)

    def assign(self, agreed: "Agreement", input_scale: InputScale) -> ArrayRows:
        """Assign every column to its class."""
        if agreed.soft is None:
            labels = class_indices(self.labels, agreed.classes)
            targets, weight = None, self.weight
        else:
            labels, targets, weight = agreed.soft.read(self.labels, self.weight)
        inputs = self.inputs
        if agreed.n_features == 1:
            inputs = two_columns(inputs, weight, input_scale, self.arguments)
        return ArrayRows(
            inputs,
            labels,
            weight,
            agreed.classes,
            agreed.column_classes,
            agreed.feature_names,
            agreed.n_features,
            targets=targets,
        )


@dataclass(frozen=True)
class PartSummary:
    """Facts about a batch that all batches have to agree on.

    ``worst`` is the row farthest from a sum of one if values were checked; ``n_left_out`` rows have
    no label; ``error`` is the reason why the batch is invalid.
    """

    n_rows: int = 0
    n_bytes: int = 0
    total_weight: float = 0.0
    n_columns: int = 0
    names: LabelArray | None = None
    observed: LabelArray | None = None
    categories: LabelArray | None = None
    dtype: np.dtype[Any] | None = None
    is_weighted: bool = False
    soft: SoftSummary | None = None
    worst: RowSum | None = None
    n_left_out: int = 0
    error: str = ""


@dataclass(frozen=True)
class Agreement:
    """Facts that all batches have in common; see `LabelledRows` for the names.

    ``soft`` is the reading of soft labels.
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

    def in_parts(self, parts: AbstractParts) -> PartitionedRows:
        """Return the rows of parts that agree."""
        fields = {name: value for name, value in vars(self).items() if name != "soft"}
        is_soft = self.soft is not None and not self.soft.are_certain
        return PartitionedRows(
            parts, **fields, n_rows_of_parts=self.n_rows, has_soft_labels=is_soft
        )


def agree(
    parts: Sequence[PartSummary],
    classes: Iterable[Any] | None,
    arguments: Arguments,
    *,
    counts: bool = False,
) -> Agreement:
    """Assign columns to classes, given the summaries of all batches."""
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
    _check_total_weight(total, arguments)
    names, n_features = full[0].names, full[0].n_columns
    first, soft, told = full[0].soft, None, None
    if first is None:
        of_parts = [part.observed for part in full if part.observed is not None]
        observed, told = common_labels(of_parts, arguments), _common_categories(full)
    else:
        soft = SoftReading.agree(
            [part.soft for part in full if part.soft is not None], arguments, counts=counts
        )
        if soft.are_counts:
            total = soft.n_annotators
            _check_total_weight(total, arguments)
        own = first.labels(names, n_features, classes, arguments)
        observed = own if classes is None else own[:0]
    if arguments.is_binary or n_features == 1:
        column_classes = classes_of_two(observed, classes, names, n_features, arguments, told)
    else:
        column_classes = classes_of_columns(observed, classes, names, n_features, arguments, told)
    if soft is not None and first is not None:
        own = own if n_features == 1 else column_classes
        soft = soft.with_classes(first.names, own, arguments)
    worst = [part.worst for part in full if part.worst is not None]
    if worst:
        RowSum.settle(worst)
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


def check_weight(
    sample_weight: ArrayLike | None, n_samples: int, arguments: Arguments = FITTING
) -> FloatArray | None:
    """Return one weight for each row, or None if there are none."""
    if sample_weight is None:
        return None
    weight = _as_weight(sample_weight, n_samples, arguments)
    with np.errstate(over="ignore"):
        _check_total_weight(float(weight.sum()), arguments)
    return weight


def _as_weight(sample_weight: ArrayLike, n_samples: int, arguments: Arguments) -> FloatArray:
    """Return one weight for each row, all of which may be zero."""
    name = arguments.weights
    if isinstance(sample_weight, numbers.Number):
        raise ValueError(
            f"`{name}` must be one weight for each row; got the number {sample_weight!r}. "
            "Pass an array, or None for equal weights."
        )
    reject_masked(name, sample_weight)
    try:
        given = as_array(sample_weight, name)
        if given.dtype.kind == "c":
            raise TypeError("they are complex")
        reject_datetimes(given)
        weight = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must hold numbers; got values of another kind ({error}). "
            "Pass one number for each row."
        ) from error
    if weight.shape != (n_samples,):
        raise ValueError(
            f"`{name}` must have shape ({n_samples},), one weight for each row; "
            f"got shape {weight.shape}. Sample weights must be 1D array or scalar per row."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"`{name}` must be finite and not negative; {arguments.row(i)} has weight {weight[i]}. "
            "Use zero to leave a row out."
        )
    return weight


def _check_total_weight(total: float, arguments: Arguments = FITTING) -> None:
    """Raise unless the sum of the weights can be divided by."""
    name = arguments.weights
    if total == 0.0:
        raise ValueError(f"`{name}` is zero for every row. Give some row a weight.")
    if not 1.0 / LARGEST < total < LARGEST:
        raise ValueError(
            f"`{name}` sums to {total:.3g}, which cannot be computed with. "
            "Divide the weights by their mean."
        )
