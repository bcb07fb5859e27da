"""Numbers, texts and tables as values that people and programs read."""

import sys
from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest

import dircal._frames
from dircal._frames import to_frame
from dircal._json import to_plain
from dircal._numerals import (
    format_count,
    format_interval,
    format_level,
    format_measure,
    format_measure_range,
    format_number,
    format_percent,
    format_pvalue,
)
from dircal._terminal import printable

# Numbers as people read them.


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
    assert format_number(value) == text


def test_signs():
    assert format_number(0.5, sign=True) == "+0.5000"
    assert format_number(-0.5, sign=True) == "\u22120.5000"
    assert format_percent(-0.032) == "\u22123.2\u202f%"
    assert format_percent(None) == "\u2013"


def test_counts_of_rows_and_of_weight():
    assert format_count(12345.0) == "12,345"
    assert format_count(12.3456) == "12.35"
    assert format_count(-3.0) == "\u22123"
    assert format_count(12345.0, sign=True) == "+12,345"
    assert format_count(0.0, sign=True) == "0"


def test_values_of_measures_fit_a_column():
    assert format_measure(0.0) == "0.0000"
    assert format_measure(0.12345) == "0.1235"
    assert format_measure(0.00012) == "1e-04"
    assert format_measure_range(0.1, 0.25) == "0.1000 to 0.2500"
    assert format_measure_range(None, 0.25) == ""


def test_intervals_begin_with_their_level():
    assert format_level(0.95) == "95 %"
    assert format_interval(0.1, 0.25) == "95 %: 0.1 to 0.25"
    assert format_interval(0.1, 0.25, 0.999) == "99.9 %: 0.1 to 0.25"


def test_pvalues_are_not_smaller_than_the_draws_can_show():
    assert format_pvalue(0.0, 1000) == "≤ 0.001"
    assert format_pvalue(0.0, 1000, "p") == "p ≤ 0.001"
    assert format_pvalue(1 / 1001, 1000) == format_pvalue(1 / 1000, 1000) == "≤ 0.001"
    assert format_pvalue(0.002, 1000) == "0.002"
    assert format_pvalue(0.25, 1000) == "0.25"
    assert format_pvalue(0.25, 1000, "p") == "p = 0.25"
    assert format_pvalue(1.234e-9, name="p") == "p = 1.2e-09"
    assert format_pvalue(None, 1000) == "\u2013"


# Results as values that JSON has.


@dataclass(frozen=True)
class Result:
    value: float
    labels: tuple


def test_results_become_plain_values():
    found = to_plain({1: Result(float("nan"), (np.int64(2), b"\xe9", date(2026, 1, 2)))})
    assert found == {"1": {"value": None, "labels": [2, "\xe9", "2026-01-02"]}}


def test_arrays_become_lists():
    assert to_plain(np.array([[1.5, np.inf], [np.nan, 0.0]])) == [[1.5, None], [None, 0.0]]
    assert to_plain(np.array(["2026-01-02"], dtype="datetime64[D]")) == ["2026-01-02"]
    assert to_plain(np.timedelta64(3, "D")) == "3 days"


# What a terminal would obey is shown to people instead.


def test_only_what_would_be_obeyed_changes():
    assert printable("a\x1b[31m\x07\x9b\x7f\r\u202e\u2028\udcff") == (
        "a\\x1b[31m\\x07\\x9b\\x7f\\r\\u202e\\u2028\\udcff"
    )
    plain = "né 漢 \U0001f469\u200d\U0001f52c\ttab\nline \\x1b"
    assert printable(plain) == plain


COLUMNS = {"calibrator": ["none", "temperature"], "value": [0.5, None]}


@pytest.mark.parametrize(
    ("installed", "module"), [(("pandas", "polars"), "pandas"), (("polars",), "polars")]
)
def test_takes_the_first_library_that_is_installed(installed, module, monkeypatch):
    for name in installed:
        pytest.importorskip(name)
    monkeypatch.setattr(dircal._frames, "find_spec", lambda name: name in installed or None)
    frame = to_frame(COLUMNS)
    assert type(frame).__module__.startswith(module)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["calibrator"].to_list() == COLUMNS["calibrator"]


def test_needs_no_library(monkeypatch):
    monkeypatch.setattr(dircal._frames, "find_spec", lambda name: None)
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    assert to_frame({"value": (1, 2)}) == {"value": [1, 2]}
