"""Measures and tests of each method, before and after."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dircal._typing import FloatArray
from dircal.inference import (
    CalibrationTest,
    ChosenMeasure,
    ComparisonRow,
    both_tests_of,
    default_measures,
    measure_all,
    tabulate_measures,
)
from dircal.metrics import Block, Predictions, Table
from dircal.report._candidates import Predicted
from dircal.report._diagrams import BINS, confidence_diagram
from dircal.report._steps import Steps
from dircal.report._summary import CalibrationTestSummary, MeasureSummary, Method
from dircal.selection import AutoCalibrator

__all__ = ["summarise_methods"]


def summarise_methods(
    predicted: Sequence[Predicted], level: float, n_resamples: int, seed: int, steps: Steps
) -> list[Method]:
    """One for each of the predictions.

    With weights there are neither intervals nor tests, with soft labels no tests.
    """
    weighted = predicted[0].predictions.is_weighted
    several = {one.name: one.predictions for one in predicted}
    measures, rng = default_measures(Table.REPORT), np.random.default_rng(seed)
    steps.begin("measuring")
    if weighted:
        rows = [*_weighted_rows(measures, several)]
    else:
        rows = [*tabulate_measures(measures, several, level, n_resamples, rng)]
    steps.advance()
    steps.begin("testing")
    tests: list[tuple[CalibrationTest, ...]] = [() for _ in predicted]
    if not weighted and not predicted[0].predictions.has_soft_labels:
        tests = [*both_tests_of([*several.values()], BINS, n_resamples, seed)]
    found = []
    for one, of_one in zip(predicted, tests, strict=True):
        own = tuple(_measure(row) for row in rows if row.calibrator == one.name)
        found.append(_method(one, own, tuple(_test(test, level) for test in of_one), level))
        steps.advance()
    return found


def _weighted_rows(
    measures: Sequence[ChosenMeasure], several: Mapping[str, Predictions]
) -> Iterator[ComparisonRow]:
    values = {name: measure_all(measures, one) for name, one in several.items()}
    first = next(iter(values.values()))
    for name, own in values.items():
        for measure, value, start in zip(measures, own, first, strict=True):
            yield ComparisonRow(name, measure.name, value, value - start)


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
        row.corrected,
        row.source,
    )


def _test(test: CalibrationTest, level: float) -> CalibrationTestSummary:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(test.null_sample, [tail, 1.0 - tail]).tolist()
    return CalibrationTestSummary(
        test.measure,
        test.statistic,
        float(test.null_sample.mean()),
        low,
        high,
        test.pvalue,
        len(test.null_sample),
        test.source,
    )


def _method(
    one: Predicted,
    measures: tuple[MeasureSummary, ...],
    tests: tuple[CalibrationTestSummary, ...],
    level: float,
) -> Method:
    return Method(
        one.name,
        one.role,
        "the probabilities as they are" if one.candidate is None else one.candidate.code,
        _note(one),
        one.predictions.mean(_confidence),
        next(row.value for row in measures if row.measure == "accuracy"),
        measures,
        tests,
        confidence_diagram(one.predictions, level),
        one.fit_warnings,
    )


def _confidence(block: Block) -> FloatArray:
    return block.confidence


def _note(one: Predicted) -> str | None:
    calibrator: Any = None if one.candidate is None else one.candidate.calibrator
    if not isinstance(calibrator, AutoCalibrator):
        return None
    if one.role != "fitted":
        return "It weighs what to do anew in every fold."
    table, choice = calibrator.table_, calibrator.choice_
    if "probability" not in table:
        return f"It chose {choice}."
    probability = table["probability"][table["calibrator"].index(choice)]
    return f"Of its maps the most probable is the {choice} one, with {probability:.0%}."
