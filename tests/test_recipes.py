"""The recipes of docs/architecture.md, followed: nothing else has to be changed.

A calibrator is in `tests/maps/test_new_calibrator.py`, an export in `tests/export`.
"""

import sys
import types
from dataclasses import dataclass

import click
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import dircal
from dircal import CalibratorCV, DirichletCalibrator, compare, metrics
from dircal._core.model.penalty import Penalty
from dircal.calibrators import _penalties
from dircal.calibrators._penalties import AbstractPenalty, PenaltyInUse
from dircal.cli import _app
from dircal.maps import STEPS, AbstractStep, CalibrationMap
from dircal.metrics._measure import RECORDS, IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import RowMean
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._style import house_style, one_axes


@dataclass(frozen=True)
class _TowardsIdentity(AbstractPenalty):
    """The same weight on every entry, as a distance from the identity."""

    def given(self, n_classes):
        centre = np.eye(n_classes, n_classes + 1)
        strength = 1.0 if self.lam is None else self.lam
        weights = np.full(centre.shape, 2.0 * strength)
        return PenaltyInUse(Penalty(weights, centre), {"lam": strength})

    def default_grid(self, n_classes):
        del n_classes
        return [{"lam": 100.0}, {"lam": 1e-6}]


def test_a_penalty(make_problem, monkeypatch):
    monkeypatch.setitem(_penalties._PENALTIES, "identity", _TowardsIdentity)
    allowed = (*_penalties.penalty_named.__kwdefaults__["allowed"], "identity")
    monkeypatch.setitem(_penalties.penalty_named.__kwdefaults__, "allowed", allowed)
    problem = make_problem(0, n=300, k=3)
    strong = DirichletCalibrator(penalty="identity", lam=1e6).fit(problem.proba, problem.y)
    assert_allclose(strong.coef_, np.eye(3), atol=1e-4)
    assert strong.strengths_ == {"lam": 1e6}
    search = CalibratorCV(DirichletCalibrator(penalty="identity"), cv=2)
    with pytest.warns(dircal.exceptions.GridEdgeWarning):
        search.fit(problem.proba, problem.y)
    assert search.best_params_ in [{"lam": 100.0}, {"lam": 1e-6}]


def _absolute_error(y_true, y_prob, *, sample_weight=None, classes=None):
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions).value(predictions)


def _quantity(predictions):
    del predictions
    return RowMean(_errors)


def _errors(block):
    return 1.0 - block.proba[block.label_or_mode, np.arange(block.proba.shape[1])]


def test_a_measure(make_problem, monkeypatch):
    monkeypatch.setattr(_absolute_error, "__name__", "absolute_error")
    record = Measure(
        _absolute_error,
        _quantity,
        title="absolute error",
        judges="distance of the probability of the true class from one",
        interval=IntervalRule.BCA,
        place=45,
        shown_in=Table.EVERYWHERE,
        heading="absolute\nerror",
    )
    publish(record)
    try:
        problem = make_problem(0, n=300, k=3)
        expected = 1.0 - problem.proba[np.arange(300), problem.y].mean()
        found = dircal.evaluate(problem.y, problem.proba)
        assert found.measures["absolute_error"] == pytest.approx(expected)
        table = compare(["temperature"], problem.proba, problem.y, measures=["absolute_error"])
        assert table.row("uncalibrated", "absolute_error").value == pytest.approx(expected)
        report = dircal.Report.from_predictions(problem.y, problem.proba).to_html()
        assert "absolute error" in report.lower()
    finally:
        del RECORDS["absolute_error"]


class _ConfidenceDisplay(AbstractDisplay):
    """A histogram of the largest probabilities."""

    title = "Confidence"
    how_to_read = "The further right, the more confident."

    def __init__(self, counts):
        self.counts = counts

    @classmethod
    def from_predictions(cls, y_prob):
        return cls(np.histogram(np.max(y_prob, axis=1), bins=4, range=(0, 1))[0])

    def to_frame(self):
        return make_frame(count=self.counts)

    def plot(self, ax=None):
        with house_style():
            panel = one_axes(ax, 4.0, 2.0)
            self.bars_ = panel.bar(range(len(self.counts)), self.counts)
        return self._keep([panel], ax)


def test_a_display(make_problem):
    display = _ConfidenceDisplay.from_predictions(make_problem(0, n=100, k=3).proba)
    assert sum(display.to_frame()["count"]) == 100
    assert len(display.plot().bars_) == 4
    assert display.figure_.get_suptitle() == "Confidence"


@click.command()
@click.argument("map_file")
def _classes(map_file):
    """Print the classes of a map."""
    click.echo(" ".join(map(str, dircal.load(map_file).classes_)))


def test_a_command(make_problem, monkeypatch, tmp_path):
    module = types.ModuleType("dircal.cli.commands._classes")
    module.command = _classes
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(_app.SUMMARIES, "classes", "Print the classes of a map.")
    problem = make_problem(0, n=100, k=3)
    dircal.save(DirichletCalibrator().fit(problem.proba, problem.y), tmp_path / "map.json")
    done = CliRunner().invoke(_app.app, ["classes", str(tmp_path / "map.json")])
    assert done.output == "0 1 2\n"
    assert "Print the classes" in CliRunner().invoke(_app.app, ["--help"]).output
    missing = CliRunner().invoke(_app.app, ["classes", "no.json"])
    assert missing.exit_code == 2
    assert "Traceback" not in missing.output


@dataclass(frozen=True, eq=False, repr=False)
class _Flip(AbstractStep):
    """The scores in reverse order of the classes."""

    def apply(self, block):
        return block[::-1].copy()

    def n_out(self, n_in):
        return n_in


def test_a_step(make_problem, monkeypatch):
    monkeypatch.setitem(STEPS, "_Flip", _Flip)
    problem = make_problem(0, n=50, k=3)
    fitted = DirichletCalibrator().fit(problem.proba, problem.y).map_
    flipped = CalibrationMap(3, (*fitted.steps[:-1], _Flip(), fitted.steps[-1]))
    assert_allclose(flipped(problem.proba), fitted(problem.proba)[:, ::-1])
    assert metrics.accuracy(problem.y, flipped(problem.proba)) <= 1.0
