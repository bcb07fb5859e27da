"""The change of the confusion matrix."""

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from sklearn.metrics import confusion_matrix

from dircal import DirichletCalibrator, TemperatureScaling
from dircal.plots import ConfusionChangeDisplay
from dircal.plots._style import BAD, GOOD


def test_it_is_after_minus_before(fitted):
    calibrator, problem = fitted
    after = calibrator.predict_proba(problem.proba)
    display = ConfusionChangeDisplay.from_predictions(problem.y, problem.proba, after)
    matrices = [confusion_matrix(problem.y, p.argmax(axis=1)) for p in (problem.proba, after)]
    np.testing.assert_array_equal(display.before, matrices[0])
    np.testing.assert_array_equal(display.change, matrices[1] - matrices[0])
    frame = display.to_frame()
    assert frame["true"][:3] == ["0"] * 3
    assert frame["predicted"][:3] == ["0", "1", "2"]
    assert frame["change"] == display.change.ravel().tolist()
    display.plot()
    gain = np.where(np.eye(3), display.change, -display.change)
    np.testing.assert_array_equal(display.image_.get_array(), gain)
    # Colours are those of better and worse everywhere, numbers those of the change.
    assert to_hex(display.image_.cmap(1.0)) == GOOD.lower()
    assert to_hex(display.image_.cmap(0.0)) == BAD.lower()
    shown = [text.get_text() for text in display.numbers_]
    assert shown[2] == f"{display.change[0, 2]:+.0f}".replace("-", "\u2212")
    low, high = display.image_.get_clim()
    assert -low == high == np.abs(display.change).max()
    right = int(np.trace(display.change))
    assert display.ax_.get_title(loc="left").startswith(f"right: {right:+d}".replace("-", "\u2212"))


def test_from_a_calibrator_on_any_scale_and_column_order(make_problem):
    problem = make_problem(2, k=4)
    kwargs = {"classes": [3, 2, 1, 0], "input_scale": "logit"}
    calibrator = DirichletCalibrator(**kwargs).fit(problem.logits[:, ::-1], problem.y)
    display = ConfusionChangeDisplay.from_calibrator(
        calibrator, problem.logits[:, ::-1], problem.y, class_names=list("abcd")
    )
    after = calibrator.predict_proba(problem.logits[:, ::-1])
    expected = ConfusionChangeDisplay.from_predictions(
        problem.y, problem.proba, after, class_names=list("abcd")
    )
    assert display.to_frame() == expected.to_frame()


def test_columns_of_a_data_frame_are_matched_by_name(fitted):
    _, problem = fitted
    labels = np.array(["a", "b", "c"])[problem.y]
    frame = pd.DataFrame(problem.proba, columns=["a", "b", "c"])
    calibrator = DirichletCalibrator().fit(frame, labels)
    plain = ConfusionChangeDisplay.from_calibrator(calibrator, frame, labels)
    turned = ConfusionChangeDisplay.from_calibrator(calibrator, frame[["c", "a", "b"]], labels)
    assert turned.to_frame() == plain.to_frame()


def test_weights_count(fitted):
    calibrator, problem = fitted
    after = calibrator.predict_proba(problem.proba)
    once = ConfusionChangeDisplay.from_predictions(problem.y, problem.proba, after)
    twice = ConfusionChangeDisplay.from_predictions(
        problem.y, problem.proba, after, sample_weight=np.full(len(after), 2.0)
    )
    np.testing.assert_array_equal(twice.change, 2 * once.change)
    same = ConfusionChangeDisplay.from_calibrator(
        calibrator, problem.proba, problem.y, sample_weight=np.full(len(after), 2.0)
    )
    np.testing.assert_array_equal(same.change, twice.change)


def test_many_classes_are_listed(make_problem):
    problem = make_problem(0, n=900, k=30)
    other = np.roll(problem.proba, 1, axis=1)
    display = ConfusionChangeDisplay.from_predictions(problem.y, problem.proba, other).plot()
    lines = [text.get_text() for text in display.figure_.axes[1].texts]
    largest = np.abs(display.change).max()
    assert lines[1].startswith((f"+{largest:g}", f"\u2212{largest:g}"))
    assert display.numbers_ == []


def test_nothing_changes_with_one_temperature(make_problem):
    problem = make_problem(0)
    calibrator = TemperatureScaling().fit(problem.proba, problem.y)
    display = ConfusionChangeDisplay.from_calibrator(calibrator, problem.proba, problem.y).plot()
    assert not display.change.any()
    assert display.ax_.get_title(loc="left") == "right: ±0 of 300 rows"
