"""How maps bend."""

import numpy as np
import pytest
from scipy.special import expit, logit

from dircal import (
    BayesianDirichletCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LinearParameters,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
)
from dircal.plots import CurveDisplay


def part_of(frame, contest, name):
    rows = zip(*frame.values(), strict=True)
    kept = [row[2:] for row in rows if row[0] == contest and row[1] == name]
    return np.array(kept, dtype=float).T


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_temperature_scaling_is_a_straight_line(make_problem, scale):
    problem = make_problem(0, n=400, k=4)
    X = problem.proba if scale == "probability" else problem.logits
    scaling = TemperatureScaling(input_scale=scale).fit(X, problem.y)
    display = CurveDisplay.from_calibrator(scaling, n_grid=9)
    assert display.temperature == pytest.approx(scaling.temperature_)
    slope = 1.0 / scaling.temperature_
    for contest, offset in (("pair", 0.0), ("many", (slope - 1.0) * np.log(3.0))):
        for name in (None, "0", "3"):
            before, after, tempered = part_of(display.to_frame(), contest, name)
            np.testing.assert_allclose(before, np.linspace(-10, 10, 9))
            np.testing.assert_allclose(after, slope * before + offset, atol=1e-9)
            np.testing.assert_allclose(tempered, after, atol=1e-9)


def test_curves_are_those_of_the_map(make_problem):
    problem = make_problem(1, n=500, k=3)
    calibrator = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    frame = CurveDisplay.from_calibrator(calibrator, others=0.02, n_grid=5, span=4.0).to_frame()
    before, after, _ = part_of(frame, "pair", "1")
    told = []
    for j, rest in ((0, 2), (2, 0)):
        q = np.empty((5, 3))
        q[:, 1], q[:, j], q[:, rest] = 0.98 * expit(before), 0.98 * expit(-before), 0.02
        mapped = calibrator.predict_proba(q)
        told.append(np.log(mapped[:, 1] / mapped[:, j]))
    np.testing.assert_allclose(after, np.mean(told, axis=0), rtol=1e-9)
    before, after, _ = part_of(frame, "many", "1")
    q = np.repeat(expit(-before)[:, None] / 2.0, 3, axis=1)
    q[:, 1] = expit(before)
    np.testing.assert_allclose(after, logit(calibrator.predict_proba(q)[:, 1]), rtol=1e-9)
    of_classes = [part_of(frame, "many", name)[1] for name in ("0", "1", "2")]
    np.testing.assert_allclose(part_of(frame, "many", None)[1], np.mean(of_classes, axis=0))


def test_what_is_drawn_is_the_frame(make_problem):
    problem = make_problem(0, n=400, k=3)
    calibrator = BayesianDirichletCalibrator().fit(problem.proba, problem.y)
    display = CurveDisplay.from_calibrator(calibrator, labels=[2], class_names=["a", "b", "c"])
    assert display.names == ["c"]
    display.plot()
    for line, contest in zip(display.lines_, ("pair", "many"), strict=True):
        before, after, _ = part_of(display.to_frame(), contest, None)
        np.testing.assert_array_equal(line.get_data(), [before, after])


def test_two_classes_and_one_column(make_problem):
    problem = make_problem(0, n=200, k=2)
    platt = PlattCalibrator().fit(problem.proba[:, 1], problem.y)
    display = CurveDisplay.from_calibrator(platt, span=3.0)
    assert len(display.curves) == 1
    assert display.temperature is None
    before, after, tempered = part_of(display.to_frame(), "pair", "1")
    np.testing.assert_allclose(expit(after), platt.predict_proba(expit(before))[:, 1], rtol=1e-9)
    assert np.isnan(tempered).all()


def test_maps_with_zeros_leave_gaps(make_problem):
    problem = make_problem(0, n=300, k=3)
    isotonic = OneVsRestCalibrator(IsotonicCalibrator()).fit(problem.proba, problem.y)
    display = CurveDisplay.from_calibrator(isotonic)
    assert None in display.to_frame()["after"]
    display.plot().figure_.draw_without_rendering()
    identity = IdentityCalibrator().fit(problem.proba, problem.y)
    before, after, _ = part_of(CurveDisplay.from_calibrator(identity).to_frame(), "pair", None)
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_a_thousand_classes_show_a_few():
    parameters = LinearParameters(0.5 * np.eye(1000), np.zeros(1000))
    display = CurveDisplay.from_calibrator(parameters, n_grid=5)
    assert len(display.names) == 24
    assert (display.names[0], display.names[-1]) == ("0", "999")
    np.testing.assert_allclose(display.curves[0].mean, 0.5 * display.curves[0].before, atol=1e-9)


def test_what_makes_no_sense():
    parameters = LinearParameters(np.eye(3), np.zeros(3))
    make = CurveDisplay.from_calibrator
    with pytest.raises(ValueError, match="`span` must be"):
        make(parameters, span=0.0)
    with pytest.raises(ValueError, match="`others` must be"):
        make(parameters, others=1.0)
    with pytest.raises(ValueError, match="`n_grid` must be a whole number of at least 2"):
        make(parameters, n_grid=1)
    with pytest.raises(ValueError, match="`labels` must be distinct labels"):
        make(parameters, labels=[7])
    with pytest.raises(ValueError, match="`calibrator` must be a fitted calibrator or parameters"):
        make("map")
