"""Results as a notebook shows them: well-formed, and with the words of the text."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

from dircal import (
    DirichletCalibrator,
    TemperatureScaling,
    calibration_test,
    compare,
    confidence_interval,
    score_test,
)
from dircal._html import BAD, GOOD
from dircal.inference import (
    ConfidenceInterval,
    EquivalenceTest,
    PairedComparison,
    tell_sources,
)
from dircal.metrics import corp_reliability, loss_decomposition


def texts_of(result):
    return " ".join(ET.fromstring(result._repr_html_()).itertext())


@pytest.fixture(scope="module")
def rows(make_problem):
    return make_problem(0, n=500)


def test_tests_pass_or_fail(rows):
    options = {"n_resamples": 200, "random_state": 0}
    failing = calibration_test(rows.y, rows.proba, **options)
    assert "fails: not calibrated" in texts_of(failing)
    assert "≤ 0.005" in texts_of(failing)
    assert BAD in failing._repr_html_()
    y = (rows.proba.cumsum(axis=1) > np.random.default_rng(0).random((500, 1))).argmax(axis=1)
    passing = calibration_test(y, rows.proba, **options)
    assert "passes" in texts_of(passing)
    assert f'<b style="color:{GOOD}">' in passing._repr_html_()
    assert passing._repr_html_().count("<rect") == 24
    assert "a map would help" in texts_of(score_test(rows.y, rows.proba, **options))
    assert "no evidence" in texts_of(score_test(y, rows.proba, **options))


def test_a_notebook_is_told_what_comes_from_moments(make_problem):
    rows = make_problem(0, n=100_000)
    options = {"n_resamples": 100, "random_state": 0}
    found = [
        calibration_test(rows.y, rows.proba, statistic="classwise_ece", **options),
        score_test(rows.y, rows.proba, **options),
        confidence_interval(rows.y, rows.proba, "log_loss", **options),
    ]
    for one in found:
        assert "from moments" in repr(one)
        assert "from moments" in texts_of(one)
    drawn = calibration_test(rows.y, rows.proba, **options)
    assert "from draws" not in repr(drawn) + texts_of(drawn)


def test_a_comparison_is_a_table_of_calibrators(rows):
    found = compare(
        {"<b>warm": TemperatureScaling(), "full": DirichletCalibrator()},
        rows.proba,
        rows.y,
        measures=["log_loss", "accuracy"],
        n_resamples=100,
        random_state=0,
    )
    tree = ET.fromstring(found._repr_html_())
    lines = [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]
    assert [line[0] for line in lines] == ["calibrator", "uncalibrated", "<b>warm", "full"]
    assert lines[2][1] == f"{found.row('<b>warm', 'log_loss').value:.4f}"
    assert f'<b style="color:{GOOD}">{lines[2][1]}</b>' in found._repr_html_()


def test_other_results_have_cards():
    told = texts_of(EquivalenceTest(0.02, 0.03, 0.05, 0.001, 0.95, "confidence_ece", 100))
    assert "passes: below the margin" in told
    told = texts_of(EquivalenceTest(0.02, 0.06, 0.05, 0.2, 0.95, "confidence_ece", 100))
    assert "fails" in told
    told = texts_of(ConfidenceInterval(0.02, 0.01, 0.03, 0.015, 0.95, "log_loss", 100))
    assert "95 %: 0.01 to 0.03" in told
    told = texts_of(PairedComparison(-0.1, -0.2, -0.05, 0.001, 0.95, "log_loss", 100))
    assert "a has less" in told
    told = texts_of(PairedComparison(-0.1, -0.2, 0.05, 0.2, 0.95, "log_loss", 100))
    assert "no evidence of a difference" in told


def test_results_of_measures_are_tables(rows):
    found = loss_decomposition(rows.y, rows.proba, TemperatureScaling())
    assert f"{found.total:.4g}" in texts_of(found)
    curves = corp_reliability(rows.y, rows.proba, over="classes")
    assert texts_of(curves).count(f"{curves.score[0]:.4g}") >= 1
    confidence = corp_reliability(rows.y, rows.proba)
    assert "confidence" in texts_of(confidence)


def test_nothing_is_said_where_all_is_drawn():
    assert tell_sources(10, []) == ""
    assert tell_sources(10, [("the score test", "draws")]) == ""


def test_each_is_told_once_with_its_source():
    found = [("b", "draws"), ("a", "moments"), ("a", "moments"), ("c", "multipliers")]
    assert tell_sources(200_000, found) == (
        "With 200,000 rows these come from moments of sums over rows: a; "
        "from rows with random signs: c; from draws: b."
    )
