"""Bars of passed tests."""

import numpy as np
import pytest

from dircal.plots import PassRateDisplay


def test_shares_of_tests_that_were_passed_best_first():
    pvalues = {"b": [0.01, 0.05, 0.06, 0.5], "a": [0.2, 0.3, 0.4, 0.01], "c": [0.1] * 4}
    display = PassRateDisplay.from_pvalues(pvalues)
    assert display.to_frame() == {
        "method": ["c", "a", "b"],
        "share": [1.0, 0.75, 0.5],
        "n_tests": [4, 4, 4],
    }
    stricter = PassRateDisplay.from_pvalues(pvalues, alpha=0.1)
    assert stricter.to_frame()["share"] == [0.75, 0.25, 0.0]


def test_bars_have_the_colour_of_their_method():
    few = PassRateDisplay.from_shares({"b": 0.2, "a": 0.9}, 10).plot()
    other = PassRateDisplay.from_shares({"b": 0.9, "a": 0.2}, 10).plot()
    assert few.bars_[0].get_facecolor() == other.bars_[1].get_facecolor()
    assert [bar.get_width() for bar in few.bars_] == [0.9, 0.2]
    assert few.ax_.get_xlabel() == "share of 10 tests with p > 0.05"
    many = PassRateDisplay.from_shares({f"m{i:02}": i / 20 for i in range(14)}, 10).plot()
    assert len({bar.get_facecolor() for bar in many.bars_}) == 14


def test_methods_with_different_numbers_of_tests():
    display = PassRateDisplay.from_pvalues({"a": np.full(1200, 0.5), "b": [0.5]}).plot()
    assert display.ax_.get_xlabel() == "share of 1 to 1,200 tests with p > 0.05"


@pytest.mark.parametrize(
    ("pvalues", "message"),
    [
        ([0.1, 0.2], "`pvalues` must be a dict from the name of each method .* got list"),
        ({}, "got an empty one"),
        ({"a": [0.1, np.nan]}, "'a' has shape \\(2,\\) and NaN or infinity"),
        ({"a": []}, "at least one finite number"),
        ({"a": [1.2]}, "must lie between 0 and 1; 'a' holds 1.2"),
        ({"a": ["x"]}, "`pvalues` must hold numbers; 'a' does not"),
    ],
)
def test_what_makes_no_sense(pvalues, message):
    with pytest.raises(ValueError, match=message):
        PassRateDisplay.from_pvalues(pvalues)
