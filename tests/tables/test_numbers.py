"""Numbers that users pass: finite, within limits, or one clear error."""

from fractions import Fraction

import pytest

from dircal import DirichletCalibrator
from dircal.tables import check_integer, check_number


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), 10**5000, Fraction(10**400)],
    ids=["large", "negative", "too long to print", "fraction"],
)
def test_a_number_beyond_floats_is_a_bad_number(value):
    with pytest.raises(ValueError, match="`lam` must be a finite number"):
        check_number("lam", value)


def test_a_number_without_limits():
    with pytest.raises(ValueError, match="`cost` must be a finite number; got nan"):
        check_number("cost", float("nan"))


def test_its_digits_are_not_printed():
    with pytest.raises(ValueError, match="got a whole number of 1329 bits") as caught:
        DirichletCalibrator(lam=10**400).fit([[0.5, 0.5], [0.4, 0.6]], [0, 1])
    assert len(str(caught.value)) < 200


def test_a_whole_number_too_small_says_so_whatever_its_size():
    with pytest.raises(ValueError, match="at least 1; got a whole number of"):
        check_integer("n_bins", -(10**5000), at_least=1)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        check_integer("n_bins", 0, at_least=1)
