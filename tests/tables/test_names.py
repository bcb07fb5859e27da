"""Columns that are called after labels, exactly or nearly."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dircal import IdentityCalibrator, IsotonicCalibrator, TemperatureScaling, metrics
from dircal.tables import find_columns, like_labels, match_names

NUMERALS = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]


def texts(*values):
    return np.array(values, dtype=object)


NEAR = {
    "prefix": "proba_{}".format,
    "suffix": "{}_score".format,
    "both": "p({})".format,
    "a letter of the labels": "vi{}i".format,
    "case": str.upper,
    "blank": " {}".format,
    "all of it": lambda name: f" Proba_{name.upper()} ",
}


@pytest.fixture
def numerals(make_problem):
    problem = make_problem(0, n=300, k=10)
    return problem.proba, np.array(NUMERALS)[problem.y]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("rename", NEAR.values(), ids=NEAR)
def test_names_that_nearly_match(numerals, rename, library):
    proba, y = numerals
    frame = library(dict(zip(map(rename, NUMERALS), proba.T, strict=True)))
    fitted = TemperatureScaling().fit(frame, y)
    assert fitted.column_classes_.tolist() == NUMERALS
    told = TemperatureScaling(classes=NUMERALS).fit(proba, y)
    expected = told.predict_proba(proba)
    np.testing.assert_array_equal(fitted.predict_proba(frame), expected)
    # New rows may have another order of the same names, and those of an array any near ones.
    turned = frame[[rename(name) for name in NUMERALS[::-1]]]
    np.testing.assert_allclose(fitted.predict_proba(turned), expected, atol=1e-12)
    np.testing.assert_allclose(told.predict_proba(turned), expected, atol=1e-12)
    assert metrics.accuracy(y, turned) == metrics.accuracy(y, proba, classes=NUMERALS)


def test_ways_to_be_called_after_labels():
    numbers = np.arange(3)
    assert match_names(texts("p_2", "p_0", "p_1"), numbers).tolist() == [2, 0, 1]
    assert match_names(texts("x10", "x11", "x12"), numbers) is None
    assert match_names(texts("1", "0"), texts("class_0", "class_1")).tolist() == [
        "class_1",
        "class_0",
    ]
    # As written comes first, and what can be told apart by case only is.
    assert match_names(texts("p_A", "p_a"), texts("a", "A")).tolist() == ["A", "a"]
    assert match_names(texts("A", "a"), texts("a", "b")) is None
    assert match_names(texts("p_a", "q_b"), texts("a", "b")) is None


def test_columns_among_others():
    labels = texts("i", "ii", "v")
    assert find_columns(["id", "p_v", "p_i", "p_ii"], labels) == [2, 3, 1]
    assert find_columns([" V", "I ", "weight", "ii"], labels) == [1, 3, 0]
    assert find_columns(["x1", "x0", "x10"], np.arange(2)) == [1, 0]
    # Some label has no column, and there are two to choose from.
    assert find_columns(["id", "p_v", "p_i"], labels) is None
    assert find_columns(["p_a", "p_b", "q_a", "q_b"], texts("a", "b")) is None
    assert find_columns(["P_A", "p_a", "p_b", "P_B"], texts("a", "b")) == [1, 2]
    assert find_columns(["A", "A ", "B"], texts("a", "b")) is None
    assert find_columns(["x10", "x11"], np.arange(2)) is None


def test_absent_classes_with_an_affix():
    third = np.full((4, 3), 1 / 3)
    frame = pd.DataFrame(third, columns=["p_3", "p_1", "p_2"])
    assert IdentityCalibrator().fit(frame, [1, 2, 1, 2]).column_classes_.tolist() == [3, 1, 2]
    frame = pd.DataFrame(third, columns=["p_c", "p_a", "p_b"])
    assert IdentityCalibrator().fit(frame, [*"abab"]).column_classes_.tolist() == ["c", "a", "b"]


RIDDLES = {
    "another prefix": (["x_a", "x_b", "y_c"], [*"abc"]),
    "case of one": (["A", "x", "y"], [*"abc"]),
    "numbers from one": (["p1", "p2", "p3"], [0, 1, 2]),
    "twice": (["A", "a", "b"], [*"abc"]),
}


@pytest.mark.parametrize(("columns", "labels"), RIDDLES.values(), ids=RIDDLES)
def test_names_that_match_in_part_are_refused(columns, labels):
    frame = pd.DataFrame(np.full((3, 3), 1 / 3), columns=columns)
    with pytest.raises(ValueError, match=r"nearly so, but .*columns are \[.*the labels \[.*Name"):
        IdentityCalibrator().fit(frame, labels)
    told = IdentityCalibrator(classes=labels).fit(frame, labels)
    assert told.predict_proba(frame).shape == (3, 3)
    by_position = IdentityCalibrator().fit(frame.to_numpy(), labels)
    with pytest.raises(ValueError, match="nearly so, but"):
        by_position.predict_proba(frame)


def test_names_of_their_own_go_by_position():
    assert like_labels(texts("alpha", "beta", "gamma"), texts("a", "b", "c")) == []
    assert like_labels(texts("p_no", "p_yes"), np.array([0, 1])) == []
    frame = pd.DataFrame(np.full((3, 3), 1 / 3), columns=["one", "two", "three"])
    assert IdentityCalibrator().fit(frame, [0, 1, 2]).column_classes_.tolist() == [0, 1, 2]


def test_what_the_user_says_outdoes_names_that_are_only_near():
    frame = pd.DataFrame([[0.7, 0.2, 0.1]] * 3, columns=["col0", "col1", "col2"])
    fitted = IdentityCalibrator(classes=[2, 0, 1]).fit(frame, [0, 1, 2])
    assert fitted.column_classes_.tolist() == [2, 0, 1]
    np.testing.assert_allclose(fitted.predict_proba(frame)[0], [0.2, 0.1, 0.7])
    with pytest.raises(ValueError, match="Select and order the columns as in `fit`"):
        fitted.predict_proba(frame[["col2", "col0", "col1"]])


@pytest.mark.parametrize(
    ("name", "last"),
    [("p_no", "no"), ("No (%)", "no"), ("yes", "yes"), ("nobody", "yes"), ("score_0", "yes")],
)
def test_one_column_that_is_nearly_called_after_a_label(name, last):
    p = pd.DataFrame({name: [0.2, 0.6, 0.4, 0.7]})
    fitted = IsotonicCalibrator().fit(p, ["no", "yes", "yes", "no"])
    assert fitted.column_classes_[-1] == last


def test_the_longer_of_two_labels_is_meant():
    p = pd.DataFrame({"p_not_ill": [0.2, 0.6, 0.4, 0.7]})
    assert IsotonicCalibrator().fit(p, ["ill", "not_ill"] * 2).column_classes_[-1] == "not_ill"
    p = p.rename(columns={"p_not_ill": "p_ill"})
    assert IsotonicCalibrator().fit(p, ["ill", "not_ill"] * 2).column_classes_[-1] == "ill"
