"""Measures and tests of each method, before and after."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dircal._typing import FloatArray, LabelArray
from dircal.inference import CalibrationTest, calibration_test
from dircal.inference._comparison_base import ComparisonRow
from dircal.inference._measure_base import Measure, check_measure
from dircal.inference._table_base import tabulate_measures
from dircal.metrics._base import read_predictions
from dircal.report._candidates import Predicted
from dircal.report._diagrams import confidence_diagram
from dircal.report._summary import MeasureSummary, Method, TestSummary
from dircal.selection import AutoCalibrator

__all__ = ["MEASURES", "summarise_methods"]

MEASURES = (
    "accuracy",
    "log_loss",
    "brier_score",
    "confidence_ece",
    "classwise_ece",
    "smooth_ece",
    "maximum_calibration_error",
)
_TESTED = ("confidence_ece", "classwise_ece")


def summarise_methods(
    predicted: Sequence[Predicted],
    y_true: LabelArray,
    classes: LabelArray,
    weight: FloatArray | None,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    begin: Callable[[str], None],
    advance: Callable[[int], None],
) -> list[Method]:
    """One for each of the predictions; with weights there are neither intervals nor tests."""
    measures = [check_measure(name) for name in MEASURES]
    begin("measuring")
    if weight is None:
        proba = {one.name: one.proba for one in predicted}
        rng = np.random.default_rng(seed)
        rows = list(tabulate_measures(measures, y_true, proba, classes, level, n_resamples, rng))
    else:
        rows = _weighted_rows(measures, predicted, y_true, classes, weight)
    advance(1)
    found = []
    for one in predicted:
        begin(f"testing {one.name}")
        tests = []
        for statistic in _TESTED if weight is None else ():
            test = calibration_test(
                y_true,
                one.proba,
                statistic=statistic,  # type: ignore[arg-type]
                n_resamples=n_resamples,
                random_state=seed,
                classes=classes,
            )
            tests.append(_test(test, level))
        own = tuple(_measure(row) for row in rows if row.calibrator == one.name)
        found.append(_method(one, own, tuple(tests), y_true, classes, weight, level))
        advance(1)
    return found


def _weighted_rows(
    measures: Sequence[Measure],
    predicted: Sequence[Predicted],
    y_true: LabelArray,
    classes: LabelArray,
    weight: FloatArray,
) -> list[ComparisonRow]:
    options = {"sample_weight": weight, "classes": classes}
    rows = []
    for measure in measures:
        start = measure(y_true, predicted[0].proba, **options)
        for one in predicted:
            value = measure(y_true, one.proba, **options)
            rows.append(ComparisonRow(one.name, measure.name, value, value - start))
    return rows


def _measure(row: ComparisonRow) -> MeasureSummary:
    return MeasureSummary(
        row.measure,
        row.value,
        row.low,
        row.high,
        row.difference,
        row.difference_low,
        row.difference_high,
        row.pvalue,
    )


def _test(test: CalibrationTest, level: float) -> TestSummary:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(test.null_sample, [tail, 1.0 - tail]).tolist()
    return TestSummary(
        test.measure,
        test.statistic,
        float(test.null_sample.mean()),
        low,
        high,
        test.pvalue,
        len(test.null_sample),
    )


def _method(
    one: Predicted,
    measures: tuple[MeasureSummary, ...],
    tests: tuple[TestSummary, ...],
    y_true: LabelArray,
    classes: LabelArray,
    weight: FloatArray | None,
    level: float,
) -> Method:
    predictions = read_predictions(y_true, one.proba, weight, classes)
    return Method(
        one.name,
        one.role,
        "the probabilities as they are" if one.candidate is None else one.candidate.code,
        _note(one),
        float(np.average(one.proba.max(axis=1), weights=weight)),
        next(row.value for row in measures if row.measure == "accuracy"),
        measures,
        tests,
        confidence_diagram(predictions, level),
        one.complaints,
    )


def _note(one: Predicted) -> str | None:
    calibrator: Any = None if one.candidate is None else one.candidate.calibrator
    if isinstance(calibrator, AutoCalibrator) and one.role == "fitted":
        return f"It chose {calibrator.choice_}."
    if isinstance(calibrator, AutoCalibrator):
        return "It chooses anew in every fold."
    return None
