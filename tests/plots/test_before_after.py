"""Several calibrators side by side."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dircal import DirichletCalibrator, TemperatureScaling
from dircal.plots import BeforeAfterDisplay, ClasswiseReliabilityDisplay, ReliabilityDisplay


def rows_of(frame, **wanted):
    kept = [
        i
        for i in range(len(frame["curve"]))
        if all(frame[key][i] == value for key, value in wanted.items())
    ]
    return {key: [column[i] for i in kept] for key, column in frame.items() if key != "method"}


def test_rows_are_those_of_the_single_displays(fitted):
    calibrator, problem = fitted
    after = calibrator.predict_proba(problem.proba)
    display = BeforeAfterDisplay.from_predictions(
        problem.y, {"raw": problem.proba, "Dirichlet": after}, n_bins=8
    )
    frame = display.frame()
    alone = ReliabilityDisplay.from_predictions(problem.y, after, n_bins=8)
    assert rows_of(frame, method="Dirichlet", curve="confidence") == alone.frame()
    classes = ClasswiseReliabilityDisplay.from_predictions(
        problem.y, problem.proba, labels=[1], n_bins=8
    )
    assert rows_of(frame, method="raw", curve="1") == classes.frame()


def test_panels_and_titles(fitted):
    calibrator, problem = fitted
    display = BeforeAfterDisplay.from_calibrators(
        {"Dirichlet": calibrator}, problem.proba, problem.y, class_names=["a", "b", "c"]
    ).plot(counts="none")
    assert list(display.rows) == ["before", "Dirichlet"]
    assert len(display.axes_) == len(display.bars_) == 8
    titles = [ax.get_title(loc="left").partition("\n")[0] for ax in display.axes_[:4]]
    assert titles == ["confidence", "a", "b", "c"]
    assert display.axes_[4].get_ylabel() == "Dirichlet\nobserved"
    assert display.counts_ == [None] * 8


def test_calibrators_of_logits_and_turned_columns(make_problem):
    problem = make_problem(0, k=3)
    X = problem.logits[:, ::-1]
    kwargs = {"classes": [2, 1, 0], "input_scale": "logit"}
    calibrators = {
        "temperature": TemperatureScaling(**kwargs).fit(X, problem.y),
        "Dirichlet": DirichletCalibrator(**kwargs).fit(X, problem.y),
    }
    display = BeforeAfterDisplay.from_calibrators(calibrators, X, problem.y, level=None)
    proba = {"before": problem.proba}
    proba |= {name: c.predict_proba(X) for name, c in calibrators.items()}
    expected = BeforeAfterDisplay.from_predictions(problem.y, proba, level=None).frame()
    found = display.frame()
    assert found["method"] == expected["method"]
    np.testing.assert_allclose(found["mean_predicted"], expected["mean_predicted"])


def test_the_worst_classes_of_many(make_problem):
    problem = make_problem(0, n=900, k=12)
    display = BeforeAfterDisplay.from_predictions(
        problem.y, {"raw": problem.proba, "other": problem.proba[:, ::-1]}, max_classes=2
    )
    worst = ClasswiseReliabilityDisplay.from_predictions(problem.y, problem.proba, max_panels=2)
    assert display.positions == worst.positions
    none = BeforeAfterDisplay.from_predictions(problem.y, {"raw": problem.proba}, max_classes=0)
    assert len(none.plot().axes_) == 1
    chosen = BeforeAfterDisplay.from_predictions(problem.y, {"raw": problem.proba}, labels=[7])
    assert chosen.positions == [7]


def test_what_makes_no_sense(fitted):
    _, problem = fitted
    with pytest.raises(ValueError, match=r"`y_prob` must be a dict .* got ndarray"):
        BeforeAfterDisplay.from_predictions(problem.y, problem.proba)
    with pytest.raises(NotFittedError):
        BeforeAfterDisplay.from_calibrators({"a": TemperatureScaling()}, problem.proba, problem.y)
    with pytest.raises(ValueError, match=r"`calibrators\['a'\]` must be a fitted calibrator"):
        BeforeAfterDisplay.from_calibrators({"a": 1}, problem.proba, problem.y)
