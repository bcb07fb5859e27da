"""Reliability of the classes."""

import numpy as np
import pytest

from dircal._core.stats.bands import consistency_band
from dircal._core.stats.bins import equal_width
from dircal._core.stats.chances import ChanceSums
from dircal.metrics import class_bins, class_ece
from dircal.plots import ClasswiseReliabilityDisplay


def test_it_holds_what_the_table_of_bins_holds(vectors):
    display = ClasswiseReliabilityDisplay.from_predictions(vectors.y, vectors.proba)
    table = class_bins(vectors.y, vectors.proba)
    used = table.count > 0
    frame = display.frame()
    assert frame["count"] == table.count[used].tolist()
    np.testing.assert_array_equal(frame["frequency"], table.frequency[used])
    chances = ChanceSums.of(vectors.proba.T, equal_width(15, np.dtype(float))).finish()
    low = np.array([consistency_band(one, 15, 0.95)[0] for one in chances])
    np.testing.assert_array_equal(frame["low"], low[used])
    errors = [curve.error for curve in display.curves]
    np.testing.assert_allclose(errors, table.calibration_errors)


def test_one_panel_for_each_class(vectors):
    display = ClasswiseReliabilityDisplay.from_predictions(
        vectors.y, vectors.proba, class_names=["ant", "bee", "cow", "dog"]
    ).plot()
    assert len(display.axes_) == 4
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert [title.partition("\n")[0] for title in titles] == ["ant", "bee", "cow", "dog"]
    for bars, name in zip(display.bars_, ("ant", "bee", "cow", "dog"), strict=True):
        frame = display.frame()
        mine = [f for f, c in zip(frame["frequency"], frame["curve"], strict=True) if c == name]
        assert [bar.get_height() for bar in bars] == mine


@pytest.mark.parametrize("strategy", ["width", "mass"])
def test_chosen_classes_in_the_order_given(vectors, strategy):
    options = {"strategy": strategy, "n_bins": 6}
    every = ClasswiseReliabilityDisplay.from_predictions(vectors.y, vectors.proba, **options)
    some = ClasswiseReliabilityDisplay.from_predictions(
        vectors.y, vectors.proba, labels=[3, 1], **options
    )
    assert some.positions == [3, 1]
    for curve, j in zip(some.curves, (3, 1), strict=True):
        assert curve.name == str(j)
        np.testing.assert_array_equal(curve.frequency, every.curves[j].frequency)
        np.testing.assert_array_equal(curve.high, every.curves[j].high)
    assert some.plot().figure_._suptitle is None
    single = ClasswiseReliabilityDisplay.from_predictions(vectors.y, vectors.proba, labels=2)
    assert single.positions == [2]


def test_the_worst_first_if_there_are_many(make_problem):
    problem = make_problem(0, n=900, k=20)
    display = ClasswiseReliabilityDisplay.from_predictions(problem.y, problem.proba, max_panels=5)
    errors = [class_ece(problem.y, problem.proba, j) for j in range(20)]
    assert display.positions == np.argsort(-np.array(errors), kind="stable")[:5].tolist()
    assert display.plot().figure_.get_suptitle() == "the 5 worst of 20 classes"


def test_given_panels(vectors):
    import matplotlib.pyplot as plt

    display = ClasswiseReliabilityDisplay.from_predictions(vectors.y, vectors.proba)
    _, axes = plt.subplots(1, 4)
    assert display.plot(axes, counts="none").axes_.tolist() == axes.tolist()
    assert display.counts_ == [None] * 4
    with pytest.raises(ValueError, match=r"`ax` must be one Axes of a grid .* got 2\. Pass 4"):
        display.plot(axes[:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [7]}, r"`labels` must be distinct labels among the classes .*; got 7"),
        ({"labels": [1, 1]}, r"got \[1, 1\]"),
        ({"labels": []}, r"got \[\]"),
        ({"max_panels": 0}, "`max_panels` must be a whole number of at least 1; got 0"),
        ({"class_names": ["a"]}, "`class_names` must be 4 names.* got 1 names"),
        ({"class_names": "abcd"}, "got 'abcd'"),
        ({"class_names": {0: "a"}}, "`class_names` must have a name for each class; 1 has none"),
    ],
)
def test_what_makes_no_sense(vectors, options, message):
    with pytest.raises(ValueError, match=message):
        ClasswiseReliabilityDisplay.from_predictions(vectors.y, vectors.proba, **options)


def test_names_by_label(vectors):
    names = {3: "d", 2: "c", 1: "b", 0: "a"}
    display = ClasswiseReliabilityDisplay.from_predictions(
        vectors.y, vectors.proba[:, ::-1], classes=[3, 2, 1, 0], class_names=names
    )
    assert [curve.name for curve in display.curves] == ["a", "b", "c", "d"]
