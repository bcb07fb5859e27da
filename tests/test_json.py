"""Results as values that JSON has."""

from dataclasses import dataclass
from datetime import date

import numpy as np

from dircal._json import to_plain


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
