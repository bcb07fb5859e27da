"""Labels and classes: every way to get them wrong has one clear error."""

import numpy as np
import pandas as pd
import pytest

from dircal import BetaCalibrator, Report, TemperatureScaling, metrics
from dircal.tables import FITTING
from dircal.tables._labels import class_indices
from dircal.tables._raw_rows import common_labels

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


def in_objects(labels):
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


MERGED = {
    "numbers and strings": ([1, "1"], r"labels of one type; got int and str"),
    "booleans and numbers": ([True, 1], r"labels of one type; got bool and int"),
    "NumPy's booleans": ([np.True_, 1.0], r"labels of one type; got bool and float"),
    "bytes and strings": ([b"a", "a"], r"labels of one type; got bytes and str"),
    "dates and durations": (
        [np.datetime64(1, "D"), np.timedelta64(1, "D")],
        r"labels of one type; got datetime64 and timedelta64",
    ),
    "NaN and strings": ([np.nan, "nan"], r"holds nan"),
    "integers of both signs": (
        [-1, 2**63, 2**63 + 1],
        r"contains the integer 9223372036854775809, which a 64-bit array .*\. Convert",
    ),
    "integers and floats": ([2**53 + 1, 0.0], r"contains the integer 9007199254740993, which"),
}


@pytest.mark.parametrize(("labels", "message"), MERGED.values(), ids=MERGED)
def test_lists_of_labels_that_numpy_would_merge(labels, message):
    y = [labels[i % len(labels)] for i in range(4)]
    for kind in (list, tuple):
        with pytest.raises(ValueError, match=f"`y` .*{message}"):
            TemperatureScaling().fit(GOOD, kind(y))
    with pytest.raises(ValueError, match=f"`y_true` .*{message}"):
        metrics.log_loss(y, GOOD)
    with pytest.raises(ValueError, match=f"`classes` .*{message}"):
        TemperatureScaling(classes=labels).fit(GOOD, Y)


ONE_TYPE = {
    "strings": (["a", np.str_("b")], ["a", "b"]),
    "integers": ([1, np.int64(2)], [1, 2]),
    "small integers": ([np.int8(1), np.uint64(2)], [1, 2]),
    "floats": ([1.0, np.float32(2.0)], [1.0, 2.0]),
    "booleans": ([False, np.True_], [False, True]),
    "bytes": ([b"a", np.bytes_(b"b")], [b"a", b"b"]),
}


@pytest.mark.parametrize(("labels", "plain"), ONE_TYPE.values(), ids=ONE_TYPE)
@pytest.mark.parametrize("kind", [list, in_objects, lambda y: pd.Series(in_objects(y))])
def test_labels_of_numpy_and_of_python_are_one_type(labels, plain, kind):
    y = kind([labels[i] for i in Y])
    for options in ({}, {"classes": labels}, {"classes": in_objects(labels)}):
        fitted = TemperatureScaling(**options).fit(GOOD, y)
        assert fitted.classes_.tolist() == plain
        assert [type(one) for one in fitted.classes_.tolist()] == [type(one) for one in plain]


def test_strings_that_end_in_a_zero_are_other_labels():
    y = [["a", "a\0"][i] for i in Y]
    assert TemperatureScaling().fit(GOOD, y).classes_.tolist() == ["a", "a\0"]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([None, 1], r"`classes` holds None"),
        ([np.nan, 1], r"`classes` holds NaN"),
        (np.array(["NaT", "2020"], "M8[D]"), r"`classes` holds NaT"),
        ([(1, 2), (3,)], r"`classes` must be distinct labels"),
        ([(1, 2), (3, 4)], r"`classes` must be distinct labels"),
        ([{1}, {2}], r"`classes` must be distinct labels"),
    ],
)
def test_classes_that_are_not_labels(classes, message):
    with pytest.raises(ValueError, match=message):
        TemperatureScaling(classes=classes).fit(GOOD, Y)


PARTS = {
    "booleans and integers": ([[True], [1, 0]], "got bool and int"),
    "bytes and strings": ([[b"a"], ["a", "b"]], "got bytes and str"),
    "integers of both signs": ([[-1], [2**63 + 1]], "contains the integer 9223372036854775809"),
    "objects and strings": ([in_objects(["a"]), ["a", "b"]], None),
    "integers and floats": ([[1], [1.0, 2.0]], None),
}


@pytest.mark.parametrize(("parts", "message"), PARTS.values(), ids=PARTS)
def test_labels_of_parts_follow_the_same_rule(parts, message):
    arrays = [np.asarray(part) for part in parts]
    if message is None:
        assert common_labels(arrays, FITTING).tolist() == list(parts[1])
    else:
        with pytest.raises(ValueError, match=f"`y` .*{message}"):
            common_labels(arrays, FITTING)
