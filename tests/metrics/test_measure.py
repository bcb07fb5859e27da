"""The records of the measures, and that one record is all that a new measure needs."""

import inspect
import json
from functools import partial

import numpy as np
import pytest

from dircal import Report, TemperatureScaling, compare, confidence_interval, metrics
from dircal.metrics import RECORDS, IntervalRule, Measure, Predictions, Table, measures_in
from dircal.metrics._measure import publish
from dircal.metrics._quantities import RowMean

COMMON = ("y_true", "y_prob", "sample_weight", "classes")
each_record = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)


def options_of(function, skipped):
    parameters = inspect.signature(function).parameters
    return {name: one.default for name, one in parameters.items() if name not in skipped}


@each_record
def test_records_agree_with_their_functions(record):
    assert record.name in metrics.__all__
    assert getattr(metrics, record.name) is record.function
    options = options_of(record.function, COMMON)
    assert [*options_of(record.quantity, ("predictions",))] == [*options]
    assert record.title
    assert record.judges
    assert (record.interval is None) == bool(record.why_no_interval)
    assert bool(record.heading) == (Table.DEMONSTRATION in record.shown_in)
    assert ("higher is better" in record.function.__doc__) == record.higher_is_better
    needs_more = inspect.Parameter.empty in options.values()
    assert not (needs_more and record.shown_in)


@each_record
def test_checked_predictions_give_what_arrays_give(record, make_problem):
    problem = make_problem(0, n=300, k=4)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    options = {"label": 1} if record.name == "class_ece" else {}
    checked = Predictions.check(problem.y, problem.proba, weight)
    expected = record.function(problem.y, problem.proba, sample_weight=weight, **options)
    assert record.of(checked, **options).value(checked) == expected
    held = checked.hold()
    assert record.of(held, **options).value(held) == expected
    assert record.of(held, **options).value(held) == expected


@pytest.mark.parametrize("name", [name for name, one in RECORDS.items() if one.interval])
def test_sums_over_all_rows_are_the_measure(name, make_problem):
    problem, record = make_problem(1, n=400, k=3), RECORDS[name]
    options = {"label": 1} if record.name == "class_ece" else {}
    predictions = Predictions.check(problem.y, problem.proba)
    quantity = record.of(predictions, **options)
    found = quantity.sums(predictions)
    [terms] = predictions.gather(found.terms, "A test")
    cells = np.empty((400, 0)) if terms.cells is None else terms.cells.toarray()
    assert found.size == (len(terms.dense), cells.shape[1])
    read = found.read(np.hstack([terms.dense.T, cells]).sum(axis=0))
    expected = quantity.value(predictions)
    if record.interval is IntervalRule.ABSOLUTE_SUM:
        # The smoothed residuals of draws live on a coarser grid.
        close = 1e-3 if record.name == "smooth_ece" else 1e-12
        assert np.abs(read).sum() == pytest.approx(expected, rel=close)
    else:
        assert read == pytest.approx([expected], rel=1e-12)


def test_tables_are_those_of_the_page_and_the_command_line():
    names = {table: [one.name for one in measures_in(table)] for table in Table}
    assert names[Table.REPORT] == [
        "accuracy", "log_loss", "brier_score", "confidence_ece", "classwise_ece", "smooth_ece",
        "maximum_calibration_error",
    ]  # fmt: skip
    assert [*names[Table.COMPARISON]] == [
        *names[Table.REPORT][:-1], "debiased_squared_error", "maximum_calibration_error",
    ]  # fmt: skip
    assert {*names[Table.EVALUATION]} == {*names[Table.COMPARISON], "error_rate"}
    assert [*names[Table.DEMONSTRATION]] == [
        one for one in names[Table.REPORT] if one != "smooth_ece"
    ]


def doubt(y_true, y_prob, *, sample_weight=None, classes=None):
    """How far the largest probability is from one, on average."""
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return doubt_of(predictions).value(predictions)


def doubt_of(predictions):
    return RowMean(lambda block: 1.0 - block.confidence)


@pytest.fixture
def new_measure(monkeypatch):
    """A measure as a file of its own would publish it."""
    record = Measure(
        doubt, doubt_of, title="Doubt", judges="what is left for the other classes",
        interval=IntervalRule.BCA,
    )  # fmt: skip
    monkeypatch.setitem(RECORDS, "doubt", record)
    assert publish(record) is record
    return record


@pytest.mark.usefixtures("new_measure")
def test_a_record_is_enough_to_be_compared(make_problem):
    problem = make_problem(2, n=200, k=3)
    table = compare([TemperatureScaling()], problem.proba, problem.y, n_resamples=100)
    row = table.row("TemperatureScaling", "doubt")
    assert row.low < row.value < row.high
    assert row.pvalue is not None
    found = confidence_interval(problem.y, problem.proba, "doubt", n_resamples=100)
    assert found.estimate == table.row("uncalibrated", "doubt").value
    assert partial(doubt, classes=range(3))(problem.y, problem.proba) == found.estimate


@pytest.mark.usefixtures("new_measure")
def test_a_record_is_enough_to_be_reported(make_problem):
    problem = make_problem(3, n=200, k=3)
    report = Report.from_predictions(
        problem.y, problem.proba, calibrators=TemperatureScaling(), n_resamples=100
    )
    assert report.summary.before.measure("doubt").low is not None
    page = report.to_html()
    assert ">Doubt<small>what is left for the other classes</small>" in page


@pytest.mark.usefixtures("new_measure")
def test_a_record_is_enough_to_be_printed(make_problem, tmp_path):
    testing = pytest.importorskip("click.testing")
    from dircal.cli._app import app

    problem = make_problem(4, n=100, k=2)
    lines = [f"{y},{a},{b}" for y, (a, b) in zip(problem.y, problem.proba, strict=True)]
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["y,0,1", *lines]))
    command = ["evaluate", str(path), "--label", "y", "--resamples", "100"]
    rule = ["--fail-if", "doubt.high > 2"]
    result = testing.CliRunner().invoke(app, [*command, *rule, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["measures"]["doubt"]["low"] > 0
