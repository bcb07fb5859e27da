"""The heat map of canonical parameters."""

import numpy as np
import pytest

from dircal import CalibratorCV, DirichletCalibrator, IdentityCalibrator, LinearParameters
from dircal.plots import ParametersDisplay


def test_it_shows_the_canonical_parameters(fitted):
    calibrator, _ = fitted
    parameters = calibrator.canonical_parameters()
    display = ParametersDisplay.from_calibrator(calibrator, class_names=["a", "b", "c"])
    frame = display.to_frame()
    assert frame["row"] == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    assert frame["column"] == ["a", "b", "c", "c"] * 3
    values = np.column_stack([parameters.A, parameters.c])
    np.testing.assert_array_equal(frame["value"], values.ravel())
    display.plot()
    np.testing.assert_array_equal(display.image_.get_array(), parameters.A)
    np.testing.assert_array_equal(display.image_c_.get_array()[:, 0], parameters.c)
    texts = [number.get_text() for number in display.numbers_]
    assert texts == [f"{v:.2f}" for v in (*parameters.A.ravel(), *parameters.c)]
    # White above half the scale, and black below.
    high = parameters.A / parameters.A.max() > 0.55
    colours = [number.get_color() for number in display.numbers_[:9]]
    assert colours == np.where(high, "white", "black").ravel().tolist()


def test_a_hundred_classes_hold_no_numbers_but_a_list():
    W = np.eye(100)
    W[7, 3], W[40, 41] = 0.6, 0.3
    display = ParametersDisplay.from_calibrator(LinearParameters(W, np.zeros(100))).plot()
    assert display.numbers_ == []
    beside = display.figure_.axes[1]
    lines = [text.get_text() for text in beside.texts]
    assert lines[1:3] == ["0.60   3 → 7", "0.30   41 → 40"]
    # The scale is that of the entries off the diagonal.
    assert display.image_.get_clim() == (0.0, 0.6)
    assert len(display.to_frame()["value"]) == 100 * 101


def test_maps_without_canonical_parameters(make_problem):
    problem = make_problem(0, k=3)
    search = CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0, 1e-2, 1e-3]}, cv=3)
    for calibrator in (IdentityCalibrator(), search):
        calibrator.fit(problem.proba, problem.y)
        with pytest.raises(ValueError, match=f"{type(calibrator).__name__} has none. Draw what"):
            ParametersDisplay.from_calibrator(calibrator)
