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
    frame = display.to_frame()
    alone = ReliabilityDisplay.from_predictions(problem.y, after, n_bins=8)
    assert rows_of(frame, method="Dirichlet", curve="confidence") == alone.to_frame()
    classes = ClasswiseReliabilityDisplay.from_predictions(
        problem.y, problem.proba, labels=[1], n_bins=8
    )
    assert rows_of(frame, method="raw", curve="1") == classes.to_frame()


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
    expected = BeforeAfterDisplay.from_predictions(problem.y, proba, level=None).to_frame()
    found = display.to_frame()
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


def test_bins_from_elsewhere(fitted):
    calibrator, problem = fitted
    after = calibrator.predict_proba(problem.proba)
    display = BeforeAfterDisplay.from_predictions(
        problem.y, {"raw": problem.proba, "Dirichlet": after}, level=None
    )
    again = BeforeAfterDisplay.from_frame(display.to_frame())
    assert again.to_frame() == display.to_frame()
    assert again.positions == [0, 1, 2]
    assert len(again.plot().axes_) == 8


def test_bins_of_classes_alone_and_with_holes():
    frame = {
        "method": ["raw", "raw", "raw"],
        "curve": ["cat", "cat", "dog"],
        "bin": [2, 4, 0],
        "lower": [0.4, 0.8, 0.0],
        "upper": [0.6, 1.0, 0.2],
        "count": [10.0, 30.0, 40.0],
        "mean_predicted": [0.5, 0.9, 0.1],
        "frequency": [0.25, 0.8, 0.3],
    }
    display = BeforeAfterDisplay.from_frame(frame).plot(counts="none")
    assert len(display.axes_) == 2
    assert [ax.get_title(loc="left").partition("\n")[0] for ax in display.axes_] == ["cat", "dog"]
    drawn = display.to_frame()
    assert {key: drawn[key] for key in frame} == frame
    assert [bar.get_x() for bar in display.bars_[0]] == pytest.approx([0.4, 0.8])
    assert display.rows["raw"][0].error == pytest.approx((10 * 0.25 + 30 * 0.1) / 40)
    del frame["upper"]
    with pytest.raises(ValueError, match=r"`frame` must have the columns .*'upper' is missing"):
        BeforeAfterDisplay.from_frame(frame)


def test_every_method_has_the_same_curves():
    columns = ("method", "curve", "bin", "lower", "upper", "count", "mean_predicted", "frequency")
    rows = [("raw", "cat", 0, 0.0, 1.0, 5, 0.5, 0.4), ("other", "dog", 0, 0.0, 1.0, 5, 0.5, 0.4)]
    frame = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    with pytest.raises(ValueError, match=r"the same curves, .* got \[\['cat'\], \['dog'\]\]"):
        BeforeAfterDisplay.from_frame(frame)
    with pytest.raises(ValueError, match="got no rows"):
        BeforeAfterDisplay.from_frame({key: [] for key in columns})


@pytest.mark.parametrize(
    "display", [BeforeAfterDisplay, ClasswiseReliabilityDisplay, ReliabilityDisplay]
)
def test_gap_bars_as_wide_as_wanted(fitted, display):
    _, problem = fitted
    proba = {"raw": problem.proba} if display is BeforeAfterDisplay else problem.proba
    made = display.from_predictions(problem.y, proba, n_bins=4)

    def width(**options):
        gaps = made.plot(**options).gaps_
        return (gaps if display is ReliabilityDisplay else gaps[0])[0].get_width()

    assert width(gap_width=0.5) == pytest.approx(0.125)
    assert width() == pytest.approx(0.075)
    with pytest.raises(ValueError, match=r"`gap_width` must be .* got 1\.5"):
        made.plot(gap_width=1.5)
