"""A calibrator fitted on a table, with its losses before and after."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from dircal._core.stats.row_blocks import ignore
from dircal._typing import LabelArray
from dircal.calibrators import AbstractCalibrator, AbstractMethod, fit_rows
from dircal.inference._effective_annotators import annotators_worth
from dircal.inference._evaluation_split import make_evaluation_split
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.metrics import RECORDS, Predictions
from dircal.tables import (
    LabelledRows,
    ScoreTable,
    check_fit,
    pass_progress,
)

__all__ = ["TableFit", "fit_table"]

_SOURCES = {
    "evidence": "what to expect by the evidence for the chosen map",
    "folds": "{n} folds, each scored by a map that was fitted on the others",
}


@dataclass(frozen=True)
class TableFit:
    """Result of `fit_table`.

    Parameters
    ----------
    calibrator : calibrator
        The fitted one.
    n_rows : int
        Number of rows.
    columns : list of str
        Columns with the scores.
    column_classes : array
        Label of each column.
    annotators, annotators_count_as : float or None
        Mean number of annotators of a row, and of rows that they count as.
    log_loss_before, log_loss_after : float
        Mean log-loss of these rows.
    log_loss_new_rows : float or None
        Expected log-loss of new rows.
    log_loss_new_rows_by : {"evidence", "folds"} or None
        Source of the expectation.
    """

    calibrator: Any
    n_rows: int
    columns: list[str]
    column_classes: LabelArray
    annotators: float | None
    annotators_count_as: float | None
    log_loss_before: float
    log_loss_after: float
    log_loss_new_rows: float | None
    log_loss_new_rows_by: str | None

    def sentences(self) -> list[str]:
        """Return the result in words."""
        n_classes = len(self.calibrator.classes_)
        lines = [
            f"{_name_of(self.calibrator)}, fitted on {self.n_rows:,} rows of {n_classes} classes.",
            self._columns(),
        ]
        if self.annotators is not None:
            lines.append(
                f"Soft labels: {self.annotators:.3g} annotators a row, who count as "
                f"{self.annotators_count_as:.2g} rows."
            )
        lines.append(
            f"Log-loss of these rows: {self.log_loss_before:.4f} before, "
            f"{self.log_loss_after:.4f} after."
        )
        if self.log_loss_new_rows is None or self.log_loss_new_rows_by is None:
            return [*lines, "Log-loss of new rows: not measured; dircal compare does, in folds."]
        how = _SOURCES[self.log_loss_new_rows_by].format(n=INFERENCE_LIMITS.get().n_fit_folds)
        return [*lines, f"Log-loss of new rows: {self.log_loss_new_rows:.4f} ({how})."]

    def _columns(self) -> str:
        limits = INFERENCE_LIMITS.get()
        pairs = [
            name if name == str(label) else f"{name} = {label}"
            for name, label in zip(self.columns, self.column_classes.tolist(), strict=True)
        ]
        more = f" and {len(pairs) - limits.max_shown} more" if len(pairs) > limits.max_shown else ""
        return f"Columns: {', '.join(pairs[: limits.max_shown])}{more}."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        fitted, document = self.calibrator, dict(vars(self))
        return {
            "calibrator": type(fitted).__name__,
            "choice": getattr(fitted, "choice_", None),
            "rows": document.pop("n_rows"),
            "classes": fitted.classes_,
            **{name: value for name, value in document.items() if name != "calibrator"},
        }


def fit_table(calibrator: AbstractCalibrator, table: ScoreTable) -> TableFit:
    """Fit a calibrator on a table, and measure what it changes.

    Annotators of a row count as `effective_annotators`. The loss of new rows is what the fit itself
    expects, or that of five folds if they take few seconds.
    """
    method = calibrator.method()
    with pass_progress("Fitting", table) as (table, passes):
        data, annotators = _check_rows(method, table)
        passes.expect(data.shape[0])
        began = time.perf_counter()
        fit_rows(calibrator, method, data)
        seconds = time.perf_counter() - began
        split = make_evaluation_split(data, None, is_fitted=True)
        before = _log_loss(split.as_they_are(calibrator.input_scale))
        after = _log_loss(split.with_map(calibrator))
        new = _expected_loss(calibrator) or _loss_of_folds(calibrator, data, seconds)
    found, names = table.found, table.columns.names
    columns = [names[i] for i in found.positions]
    classes = found.classes[-len(columns) :]
    return TableFit(
        calibrator,
        data.shape[0],
        columns,
        classes,
        *annotators,
        before,
        after,
        *(new or (None,) * 2),
    )


def _check_rows(
    method: AbstractMethod, table: ScoreTable
) -> tuple[LabelledRows, tuple[float | None, float | None]]:
    """Check the rows; also return their mean number of annotators, and of rows these count as."""
    scale = method.input_scale
    data = check_fit(
        table,
        None,
        None,
        classes=method.labels_of_columns,
        input_scale=scale,
        arguments=method.arguments,
    )
    if not data.is_in_memory or not table.loaded.has_counts:
        return data, (None, None)
    data, rows = data.in_memory, table.loaded
    n_annotators = rows.labels.sum(axis=1).astype(np.float64)
    n_features = len(data.classes)
    counted = replace(data, sample_weight=n_annotators, n_features=n_features, feature_names=None)
    weight = annotators_worth(counted, scale)
    weight = weight if rows.weight is None else weight * rows.weight
    return replace(data, sample_weight=weight), (float(n_annotators.mean()), float(weight.mean()))


def _log_loss(predictions: Predictions) -> float:
    return float(RECORDS["log_loss"].of(predictions).value(predictions))


def _expected_loss(fitted: Any) -> tuple[float, str] | None:
    """Log-loss of new rows that the fit expects; None if it expects none."""
    table = getattr(fitted, "table_", None)
    if table is None or fitted.choice_ not in table["calibrator"]:
        return None
    place = table["calibrator"].index(fitted.choice_)
    source = "evidence" if "log_evidence" in table else "folds"
    return float(table["log_loss"][place]), source


def _loss_of_folds(
    fitted: AbstractCalibrator, data: LabelledRows, seconds: float
) -> tuple[float, str] | None:
    """Log-loss of folds; None if they would take long, or too few rows are left to fit."""
    limits = INFERENCE_LIMITS.get()
    if (
        not data.is_in_memory
        or seconds * limits.n_fit_folds > limits.max_fold_seconds
        or data.shape[0] < 2 * limits.n_fit_folds
    ):
        return None
    split = make_evaluation_split(data, KFold(limits.n_fit_folds, shuffle=True, random_state=0))
    try:
        predictions = split.cross_fit(fitted, ignore, "calibrator").predictions
    except ValueError:
        return None
    return _log_loss(predictions), "folds"


def _name_of(fitted: Any) -> str:
    """Name a calibrator, with the one that it chose or contains."""
    name = type(fitted).__name__
    if hasattr(fitted, "choice_"):
        return f"{name} (its choice: {fitted.choice_})"
    held = getattr(fitted, "calibrator", None)
    return name if held is None else f"{name} of {type(held).__name__}"
