"""Measures of a table in parts: those that are functions of sums over rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.chunks import AbstractSums
from dircal._core.data.losses import log_losses, squared_errors
from dircal._core.data.parts import Part
from dircal._typing import FloatArray, InputScale, LabelArray
from dircal.calibrators import IdentityCalibrator
from dircal.distributed._open import Selection, check_rows
from dircal.metrics import BinTable, Block, ClassCurves, ConfidenceCurve, EqualWidth, Predictions
from dircal.selection import check_calibrator
from dircal.validation import MEASURING, PartitionedScores, check_option

__all__ = ["SUM_MEASURES", "Evaluation", "evaluate", "measure_rows"]

SUM_MEASURES = (
    "accuracy",
    "error_rate",
    "log_loss",
    "brier_score",
    "confidence_ece",
    "classwise_ece",
    "maximum_calibration_error",
)
"""Measures that are functions of sums over rows."""
# As in the measures themselves.
_BINS = EqualWidth(15)


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` finds.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    classes : array (k,)
        The labels, sorted.
    measures : dict
        Value of each measure, by its name in `dircal.metrics`, with its defaults.
    confidence_bins : BinTable
        What `dircal.metrics.confidence_bins` gives of all rows.
    class_bins : BinTable
        What `dircal.metrics.class_bins` gives of all rows.
    """

    n_rows: int
    classes: LabelArray
    measures: dict[str, float]
    confidence_bins: BinTable
    class_bins: BinTable


def evaluate(
    frame: Any,
    *,
    label: str = "y",
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    calibrator: Any = None,
    input_scale: InputScale = "probability",
    classes: Iterable[Any] | None = None,
    client: Any = None,
) -> Evaluation:
    """Measure predictions in a table in parts, before or after calibration.

    Parameters
    ----------
    frame : Dask DataFrame, path, pyarrow dataset or list of data frames
        The table; see `fit`.
    label : str, default="y"
        Column with the true labels.
    weight : str, optional
        Column with the weights of the rows.
    columns : sequence of str, optional
        Columns with the scores; None stands for all others.
    calibrator : calibrator, optional
        A fitted one, whose probabilities are measured in place of the scores.
    input_scale : {"probability", "logit"}, default="probability"
        What the scores are. With a calibrator it is what that was fitted on.
    classes : sequence, optional
        Label of each column, where the labels do not tell. With a calibrator they are its own.
    client : distributed.Client, optional
        Client of the cluster that works; see `fit`.

    Returns
    -------
    Evaluation
        Accuracy, error rate, log-loss, Brier score, and the calibration errors by bins of equal
        width.

    See Also
    --------
    fit : Fit a calibrator on a table in parts.

    Notes
    -----
    These are functions of sums over rows. Intervals and tests need all rows at once: take a sample.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dircal import distributed
    >>> table = pa.table({"a": [0.9, 0.2, 0.6], "b": [0.1, 0.8, 0.4], "y": ["a", "b", "b"]})
    >>> found = distributed.evaluate([table.slice(0, 1), table.slice(1)])
    >>> round(found.measures["log_loss"], 4)
    0.4149
    """
    check_option("input_scale", input_scale, ("probability", "logit"))
    arguments, judged = MEASURING, calibrator is not None
    if judged:
        check_calibrator(calibrator)
        check_is_fitted(calibrator)
        input_scale, classes = calibrator.map_.input_scale, calibrator.column_classes_
        arguments = calibrator._arguments
    selection = Selection(frame, label, weight, columns, client)
    data = check_rows(selection, classes, input_scale, arguments, judged=judged)
    return measure_rows(data, calibrator, input_scale)


def measure_rows(data: PartitionedScores, calibrator: Any, input_scale: InputScale) -> Evaluation:
    """Measures of rows that have passed the door, as they are where there is no calibrator."""
    if calibrator is None and input_scale == "logit":
        calibrator = IdentityCalibrator(input_scale="logit")._fit_checked(data)
    sums = data.parts.fold(partial(_measure, calibrator))
    return Evaluation(data.n_rows, data.classes, sums.measures(), sums.confidence, sums.class_bins)


@dataclass
class _Sums(AbstractSums):
    """Sums over rows: of weights and losses, and by bin."""

    weight: float
    losses: FloatArray
    confidence: BinTable
    class_bins: BinTable

    def measures(self) -> dict[str, float]:
        """What follows from them."""
        log_loss, brier_score, accuracy = (self.losses / self.weight).tolist()
        n_classes = len(self.class_bins.count)
        gaps = self.confidence.calibration_errors, self.class_bins.calibration_errors
        values = (
            accuracy,
            1.0 - accuracy,
            log_loss,
            brier_score,
            float(gaps[0].sum()),
            float(gaps[1].sum()) / n_classes,
            self.confidence.largest_gap,
        )
        return dict(zip(SUM_MEASURES, values, strict=True))


def _measure(calibrator: Any, part: Part) -> _Sums | None:
    """Those of a part; None where no row has a weight."""
    weights = part.rows.sample_weight
    if weights is not None and not weights.any():
        return None
    predictions = Predictions.of_checked(part.rows)
    if calibrator is not None:
        predictions = predictions.with_probabilities(calibrator._predict_checked(part.rows))
    weight, *losses = predictions.fold(_losses)
    return _Sums(
        float(weight),
        np.array(losses),
        predictions.table(ConfidenceCurve(), _BINS),
        predictions.table(ClassCurves(), _BINS),
    )


def _losses(block: Block) -> FloatArray:
    """Sums of the weights, log-losses, squared errors and hits."""
    share = np.ones(len(block.labels)) if block.weight is None else block.weight
    return np.array(
        [
            share.sum(),
            share @ log_losses(block.proba, block.labels),
            share @ squared_errors(block.proba, block.labels),
            share @ block.hits,
        ]
    )
