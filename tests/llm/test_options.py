import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal.llm import option_probabilities, sampled_probabilities


def test_tokens_that_say_the_same_add_up():
    row = {"A": np.log(0.4), " A": np.log(0.2), "a.": np.log(0.1), "(B)": np.log(0.2), "x": -9.0}
    assert_allclose(option_probabilities([row], ["A", "B"]), [[7 / 9, 2 / 9]])


def test_options_left_out_have_at_most_the_last_token_and_what_is_left():
    row = {"A": np.log(0.7), "B": np.log(0.2), "The": np.log(0.06)}
    found = option_probabilities([row], ["A", "B", "C", "D"])[0]
    # 0.04 is left for two.
    assert_allclose(found, np.array([0.7, 0.2, 0.02, 0.02]) / 0.94)
    row = {"A": np.log(0.5), "B": np.log(0.01)}
    found = option_probabilities([row], ["A", "B", "C"])[0]
    assert_allclose(found, np.array([0.5, 0.01, 0.01]) / 0.52)


def test_samples_are_counted():
    found = sampled_probabilities([["A", "A", "b", "?"], []], ["A", "B"])
    assert_allclose(found, [[2.5 / 4, 1.5 / 4], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"x": -0.1}], ["A", "B"], "`rows` must name at least one option; row 0"),
        ([{}], ["A", "B"], "row 0 is {}"),
        (["A"], ["A", "B"], "row 0 is 'A'"),
        ([{"A": 0.9}], ["A", "B"], "not above zero; row 0 has 0.9"),
        ([{"A": None}], ["A", "B"], "row 0 has None"),
        ([{"A": -1.0}], "AB", "`options` must be a list of texts"),
        ([{"A": -1.0}], ["A", "a"], "`options` must be at least two texts"),
        ([{"A": -1.0}], ["A"], "`options` must be at least two texts"),
    ],
)
def test_bad_tokens(rows, options, message):
    with pytest.raises(ValueError, match=message):
        option_probabilities(rows, options)


def test_bad_samples():
    with pytest.raises(ValueError, match="row 1 is 'A'"):
        sampled_probabilities([["A"], "A"], ["A", "B"])


@pytest.mark.parametrize(
    ("read", "row"),
    [(option_probabilities, {"A": -0.1, " b": -2.5}), (sampled_probabilities, ["A", "(b)"])],
)
def test_an_option_that_many_rows_never_name_is_refused(read, row):
    assert read([row] * 20, ["A", "B"]).shape == (20, 2)
    assert read([row] * 19, ["A", "B", "C"]).shape == (19, 3), "few rows may leave one out"
    with pytest.raises(ValueError, match="'C', which none of the 20 rows names"):
        read([row] * 20, ["A", "B", "C"])
