"""Labels and classes: every way to get them wrong has one clear error."""

import numpy as np
import pandas as pd
import pytest

from dircal import BetaCalibrator, Report, TemperatureScaling, metrics
from dircal.validation._labels import class_indices

GOOD = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]])


Y = np.array([0, 1, 1, 0])


BAD_Y = {
    "pandas NA": (pd.array(["a", "b", pd.NA, "a"], dtype="string"), r"`y` holds <NA>.*Remove"),
    "not a time": (
        np.array(["2020", "2021", "NaT", "2020"], dtype="datetime64[D]"),
        r"`y` holds NaT.*Remove the rows",
    ),
    "no duration": (np.array([1, 2, "NaT", 1], dtype="timedelta64[D]"), r"`y` holds NaT"),
    "masked": (
        np.ma.masked_array(Y, mask=[0, 0, 1, 0]),
        r"`y` is a masked array.*Remove their rows",
    ),
    "complex": (
        np.arange(4) + 1j,
        r"^`y` must hold labels; got complex numbers such as .*1j.*\. Pass",
    ),
    "complex in a list": ([1j, 2j, 1j, 2j], r"^`y` must hold labels; got complex numbers"),
    "none": (None, r"`y` is None.*Pass the true label"),
    "length": (Y[:3], r"`y` has 3 labels, but `X` has 4 rows.*one label for each row"),
    "nan": (np.array([0, 1, np.nan, 0]), r"`y` holds NaN.*Remove the rows"),
    "missing": (np.array(["a", "b", None, "a"], dtype=object), r"`y` holds None.*Remove the rows"),
    "continuous": (np.array([0.1, 1.0, 0.0, 1.0]), r"`y` must hold labels; got .*0\.1.*classes"),
    "multilabel": (
        np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 1]]),
        r"`y` holds only 0 and 1, and row 0 sums to 2.*multilabel.*each label by itself",
    ),
    "ragged": ([[0], [0, 1], [], [1]], r"`y` must be one label for each row.*multilabel"),
    "sets": ([{0}, {0, 1}, set(), {1}], r"`y` must be one label for each row\..*multilabel"),
    "a table": (np.array([["a", "b"]] * 4), r"`y` has 2 columns of type <U1.*one label for each"),
    "mixed": (np.array([1, "b", "b", 1], dtype=object), r"labels of one type; got int and str"),
    "too many": (
        np.array([0, 1, 2, 0]),
        r"`X` has 2 columns, but `y` holds 3 classes: \[0, 1, 2\]",
    ),
    "too few": (
        np.array([1, 1, 1, 1]),
        r"2 columns, but `y` holds only 1 class.*`classes=\[...\]`",
    ),
}


@pytest.mark.parametrize(("y", "message"), BAD_Y.values(), ids=BAD_Y)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        TemperatureScaling().fit(GOOD, y)


BAD_CLASSES = {
    "a set": ({0, 1}, r"`classes` must be a list or an array; got a set\..*in the order"),
    "an iterator": (iter([0, 1]), r"`classes` must be a list or an array; got a list_iterator"),
    "a string": ("01", r"`classes` must be a list or an array; got a str"),
    "unknown label": ([0, 2], r"`y` holds the label 1, which is not among `classes` \[0, 2\]"),
    "number": ([0, 1, 2], r"`classes` has 3 labels \[0, 1, 2\], but `X` has 2 columns"),
    "repeated": ([0, 0], r"`classes` must be distinct labels; got \[0, 0\]"),
    "another type": (["0", "1"], r"`y` holds the label 0, which is not among `classes`"),
}


@pytest.mark.parametrize(("classes", "message"), BAD_CLASSES.values(), ids=BAD_CLASSES)
def test_bad_classes(classes, message):
    with pytest.raises(ValueError, match=message):
        TemperatureScaling(classes=classes).fit(GOOD, Y)


def test_zero_weight_rows_may_carry_unknown_labels():
    X = np.vstack([GOOD, [[0.5, 0.5]]])
    fitted = TemperatureScaling().fit(X, [*Y, 7], sample_weight=[1, 1, 1, 1, 0])
    np.testing.assert_array_equal(fitted.classes_, [0, 1])


def test_many_labels_are_shortened_in_messages():
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4, 5, \.\.\.\]"):
        TemperatureScaling(classes=range(9)).fit(GOOD, Y)


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_swapped_arguments(kind):
    """Labels for scores and scores for labels, in a fit and in a measure."""
    with pytest.raises(
        ValueError, match=r"`X` has shape \(4,\) and `y` has shape \(4, 2\).*swapped"
    ):
        TemperatureScaling().fit(Y, kind(GOOD))
    message = r"`y_prob` has shape \(4,\) and `y_true` has shape \(4, 2\).*swapped"
    with pytest.raises(ValueError, match=message):
        metrics.log_loss(kind(GOOD), Y.tolist())
    with pytest.raises(ValueError, match="look swapped"):
        Report.from_predictions(kind(GOOD), Y)
    with pytest.raises(ValueError, match="look swapped"):
        BetaCalibrator().fit(["a", "b", "b", "a"], kind(GOOD))
    with pytest.raises(ValueError, match=r"`X` and `y` are swapped"):
        BetaCalibrator().fit(Y, GOOD[:, 1])


class Size:
    """A label with an order; a class with ``__eq__`` has no hash unless it says so."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    def __lt__(self, other):
        return self.number < other.number


@pytest.mark.parametrize("make", [lambda i: f"label {i}", Size], ids=["hash", "no hash"])
def test_objects_are_found_whether_or_not_they_have_a_hash(make):
    numbers = np.random.default_rng(0).integers(0, 5, 40)
    # Each row has an object of its own.
    labels = np.array([make(i) for i in numbers], dtype=object)
    classes = np.array([make(i) for i in range(5)], dtype=object)
    np.testing.assert_array_equal(class_indices(labels, classes), numbers)


def test_truth_values_and_numbers_are_two_types_though_they_are_equal():
    with pytest.raises(ValueError, match="labels of one type; got bool and int"):
        TemperatureScaling().fit(GOOD, np.array([1, True, 0, 0], dtype=object))
