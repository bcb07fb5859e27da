"""Numbers as people read them."""

import pytest

from dircal.report._numbers import count, percent, pvalue, short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\u2013"),
        (float("nan"), "\u2013"),
        (0.0, "0"),
        (0.25, "0.2500"),
        (-0.00049, "\u22120.00049"),
        (1.2e-9, "1.2e\u221209"),
        (12.345, "12.35"),
        (123.45, "123.5"),
        (1234567.0, "1,234,567"),
    ],
)
def test_short(value, text):
    assert short(value) == text


def test_signs():
    assert short(0.5, sign=True) == "+0.5000"
    assert short(-0.5, sign=True) == "\u22120.5000"
    assert percent(-0.032) == "\u22123.2\u202f%"
    assert percent(None) == "\u2013"


def test_counts_of_rows_and_of_weight():
    assert count(12345.0) == "12,345"
    assert count(12.3456) == "12.35"
    assert count(-3.0) == "\u22123"


def test_pvalues_are_not_smaller_than_the_draws_can_tell():
    assert pvalue(0.0, 1000) == "≤\u202f0.001"
    assert pvalue(0.0, 1000, "p") == "p ≤ 0.001"
    assert pvalue(0.001, 1000) == "≤\u202f0.001"
    assert pvalue(0.002, 1000) == "0.002"
    assert pvalue(0.25, 1000, "p") == "p = 0.250"
    assert pvalue(None, 1000) == "\u2013"
