"""Rows that decisions are made for: checked probabilities in the order of the classes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.decide._cost_table import CostTable
from dircal.tables import (
    ArrayRows,
    both_columns,
    check_predictions,
    check_scores,
    reject_soft_labels,
)

__all__ = ["DecidedRows", "labelled_rows", "rows_to_decide"]


@dataclass(frozen=True)
class DecidedRows:
    """Probabilities (n, k) in the order of the sorted ``classes``, and indices of true classes."""

    proba: FloatArray
    labels: IntArray
    classes: LabelArray


def check_costs(costs: object) -> CostTable:
    """The table itself; a ValueError for anything else."""
    if not isinstance(costs, CostTable):
        raise ValueError(
            f"`costs` must be a CostTable; got a {type(costs).__name__}. Make one with "
            "CostTable.from_matrix(costs, classes=[...], actions=[...])."
        )
    return costs


def rows_to_decide(
    y_prob: ArrayLike, costs: CostTable, classes: Iterable[Any] | None
) -> FloatArray:
    """Probabilities (n, k) in the order of the classes of the table.

    Columns are matched by the names of a data frame, else they follow ``classes``, else the sorted
    labels of the table.
    """
    columns = costs.classes
    if classes is not None:
        columns = np.asarray(list(classes))
        costs.require_classes(np.sort(columns))
    inputs, column_classes = check_scores(
        both_columns("y_prob", y_prob) if len(columns) == 2 else y_prob,
        column_classes=columns,
        n_features=len(columns),
        feature_names=None,
        input_scale="probability",
    )
    return _in_order(inputs, column_classes)


def labelled_rows(
    y_true: ArrayLike, y_prob: ArrayLike, classes: Iterable[Any] | None, *, name: str = "y_prob"
) -> DecidedRows:
    """Checked rows with their true classes."""
    data: ArrayRows = check_predictions(y_true, y_prob, None, classes, name=name)
    if data.targets is not None or data.sample_weight is not None:
        reject_soft_labels()
    return DecidedRows(_in_order(data.inputs, data.column_classes), data.labels, data.classes)


def rows_of_costs(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    costs: CostTable,
    classes: Iterable[Any] | None,
    *,
    name: str = "y_prob",
) -> DecidedRows:
    """Checked rows with their true classes, which are those of a table of costs."""
    known = costs.classes if classes is None else classes
    rows = labelled_rows(y_true, y_prob, known, name=name)
    costs.require_classes(rows.classes)
    return rows


def _in_order(inputs: Any, column_classes: LabelArray) -> FloatArray:
    proba = np.asarray(inputs[:, np.argsort(column_classes)], dtype=np.float64)
    result: FloatArray = proba / proba.sum(axis=1, keepdims=True)
    return result
