"""Where maps move points."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dircal import (
    CalibratorCV,
    CanonicalParameters,
    DirichletCalibrator,
    IsotonicCalibrator,
    LinearParameters,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
)
from dircal.plots import CalibrationMapDisplay

CORNERS = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])


def columns(frame, prefix):
    return np.column_stack([frame[name] for name in frame if name.startswith(prefix)])


def test_arrows_lead_to_the_images(fitted):
    calibrator, _ = fitted
    display = CalibrationMapDisplay.from_calibrator(calibrator, n_grid=5).plot()
    frame = display.to_frame()
    before, after = columns(frame, "before_"), columns(frame, "after_")
    np.testing.assert_allclose(before.sum(axis=1), 1)
    np.testing.assert_allclose(after, calibrator.predict_proba(before), rtol=1e-12)
    grid = np.array(frame["kind"]) == "grid"
    assert grid.sum() == 15
    np.testing.assert_allclose(display.arrows_.XY, before[grid] @ CORNERS)
    moved = np.column_stack([display.arrows_.U, display.arrows_.V])
    np.testing.assert_allclose(moved, (after - before)[grid] @ CORNERS, atol=1e-12)
    np.testing.assert_allclose(display.points_.get_offsets(), before[~grid] @ CORNERS)


def test_interpretation_points_are_those_of_the_calibrator(fitted):
    calibrator, _ = fitted
    frame = CalibrationMapDisplay.from_calibrator(calibrator, eps=0.05).to_frame()
    points = calibrator.interpretation_points(eps=0.05)
    np.testing.assert_allclose(columns(frame, "before_")[-4:], points.points)
    np.testing.assert_allclose(columns(frame, "after_")[-4:], points.images)


def test_the_matrix_is_written_below(fitted):
    calibrator, _ = fitted
    parameters = calibrator.canonical_parameters()
    display = CalibrationMapDisplay.from_calibrator(calibrator, class_names=["a", "b", "c"]).plot()
    texts = [text.get_text() for text in display.numbers_]
    rows = zip(parameters.A, parameters.c, strict=True)
    assert texts == [t for a, c in rows for t in (*(f"{x:.2f}" for x in a), f"{c:.2f}")]


def test_a_triple_of_many_classes(make_problem):
    problem = make_problem(0, n=500, k=6)
    calibrator = DirichletCalibrator().fit(problem.proba, problem.y)
    display = CalibrationMapDisplay.from_calibrator(calibrator, labels=[5, 0, 2], others=0.06)
    frame = display.to_frame()
    assert list(frame)[1:4] == ["before_5", "before_0", "before_2"]
    inputs = np.full((len(frame["kind"]), 6), 0.02)
    inputs[:, [5, 0, 2]] = 0.94 * columns(frame, "before_")
    images = calibrator.predict_proba(inputs)
    three = images[:, [5, 0, 2]]
    np.testing.assert_allclose(columns(frame, "after_"), three / three.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(frame["outside"], 1 - three.sum(axis=1), atol=1e-12)
    A = calibrator.canonical_parameters().A
    np.testing.assert_array_equal(display.matrix[:, :3], A[np.ix_([5, 0, 2], [5, 0, 2])])


def test_two_classes_give_a_curve(make_problem):
    problem = make_problem(0, k=2)
    calibrator = TemperatureScaling().fit(problem.proba, problem.y)
    display = CalibrationMapDisplay.from_calibrator(calibrator).plot()
    x, y = display.line_.get_data()
    after = calibrator.predict_proba(np.column_stack([1 - x, x]))[:, 1]
    np.testing.assert_allclose(y, after, rtol=1e-9)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_columns_and_scales_are_those_of_the_calibrator(make_problem, scale):
    problem = make_problem(0, k=3)
    q = problem.proba[:, ::-1]
    X = np.log(q) if scale == "logit" else q
    kwargs = {"classes": [2, 1, 0], "input_scale": scale}
    turned = DirichletCalibrator(**kwargs).fit(X, problem.y)
    plain = DirichletCalibrator(clip=turned.clip_ or np.finfo(float).tiny).fit(
        problem.proba, problem.y
    )
    display = CalibrationMapDisplay.from_calibrator(turned)
    expected = CalibrationMapDisplay.from_calibrator(plain)
    np.testing.assert_allclose(display.moves.images, expected.moves.images, rtol=1e-6)


def test_maps_of_other_families_have_no_matrix(make_problem):
    problem = make_problem(0, k=3)
    for calibrator in (
        OneVsRestCalibrator(IsotonicCalibrator()),
        CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1e-2, 1e-3, 1.0]}, cv=3),
        MatrixScaling(input_scale="logit"),
    ):
        logit = getattr(calibrator, "input_scale", "") == "logit"
        calibrator.fit(problem.logits if logit else problem.proba, problem.y)
        display = CalibrationMapDisplay.from_calibrator(calibrator)
        assert display.matrix is None
        assert display.plot().numbers_ == []


def test_one_column(make_problem):
    problem = make_problem(0, k=2)
    calibrator = PlattCalibrator().fit(problem.proba[:, 1], problem.y)
    frame = CalibrationMapDisplay.from_calibrator(calibrator).to_frame()
    expected = calibrator.predict_proba(np.array(frame["before_1"]))[:, 1]
    np.testing.assert_allclose(frame["after_1"], expected)


def test_classes_of_one_name_stay_apart():
    parameters = CanonicalParameters(np.eye(3), [0.5, 0.3, 0.2])
    display = CalibrationMapDisplay.from_calibrator(parameters, class_names=["a", "a", "b"])
    assert list(display.to_frame())[1:4] == ["before_a #0", "before_a #1", "before_b #2"]


def test_what_makes_no_sense():
    parameters = CanonicalParameters(np.eye(4), [0.25] * 4)
    make = CalibrationMapDisplay.from_calibrator
    with pytest.raises(ValueError, match="`labels` must be 3 labels; got 2"):
        make(parameters, labels=[0, 1])
    with pytest.raises(ValueError, match="`n_grid` must be a whole number of at least 2"):
        make(parameters, n_grid=1)
    with pytest.raises(ValueError, match="`eps` must be"):
        make(parameters, eps=0.0)
    with pytest.raises(ValueError, match="`others` must be"):
        make(parameters, others=1.0)
    with pytest.raises(ValueError, match="`calibrator` must be a fitted calibrator or parameters"):
        make("map")
    with pytest.raises(NotFittedError):
        make(DirichletCalibrator())


def test_the_most_confused_three_are_shown_and_it_is_said():
    W = np.eye(8)
    W[5, 2] = W[2, 5] = 0.4
    W[7, 2] = 0.2
    display = CalibrationMapDisplay.from_calibrator(LinearParameters(W, np.zeros(8)))
    assert display.positions == [2, 5, 7]
    title = display.plot().figure_.get_suptitle()
    assert " ".join(title.split()).endswith("the most confused three of 8 classes")
    _, ax = plt.subplots()
    assert display.plot(ax).ax_.get_title(loc="left").startswith("the most confused")


def test_where_no_three_are_more_confused_the_first_are_shown():
    same = CalibrationMapDisplay.from_calibrator(LinearParameters(2 * np.eye(8), np.zeros(8)))
    assert same.positions == [0, 1, 2]
    assert same.note == "the first three of 8 classes"
    three = CalibrationMapDisplay.from_calibrator(LinearParameters(np.eye(3), np.zeros(3)))
    assert three.note == ""
