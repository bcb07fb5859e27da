"""A comparison on parts is the one on one array with the same folds."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from dircal import AutoCalibrator, CalibratorCV, TemperatureScaling, compare
from dircal._core.data.folds import RowFolds
from dircal.tables import FITTING, TableLimits, check_fit

NAMES = ["ant", "bee", "cat", "dog"]
TRIED = {"one": "temperature", "each": "platt"}
WITHOUT_SEARCH = ["log_loss", "brier_score", "accuracy", "classwise_ece", "smooth_ece"]


@pytest.fixture
def some(frame):
    """Rows that are fitted in a moment."""
    return frame[:1501].drop(columns="w")


@pytest.fixture
def pairs():
    """Folds of rows by their numbers, as rows to fit and rows to score."""

    def deal(n_rows, n_folds, scored):
        dealt = RowFolds(n_folds).of_rows(np.arange(n_rows))
        return [(np.flatnonzero(dealt != one), np.flatnonzero(dealt == one)) for one in scored]

    return deal


def assert_same(found, whole):
    assert len(found) == len(whole)
    for row, expected in zip(found, whole, strict=True):
        assert astuple(row)[:2] == astuple(expected)[:2]
        assert row.source == expected.source
        assert row.value == pytest.approx(expected.value, rel=1e-9)
        ends = ("difference", "low", "high", "corrected", "difference_low", "difference_high")
        for name in (*ends, "pvalue"):
            value = getattr(expected, name)
            # Ends by halving are found to a part in a million.
            close = value if value is None else pytest.approx(value, rel=3e-6, abs=1e-8)
            assert getattr(row, name) == close, name


@pytest.mark.parametrize("n_parts", [1, 7])
def test_it_is_that_of_one_array(n_parts, some, cut, pairs, in_parts):
    options = {"measures": WITHOUT_SEARCH, "n_resamples": 100, "random_state": 0}
    found = compare(TRIED, in_parts(cut(some, n_parts)), cv=3, **options)
    whole = compare(TRIED, some[NAMES], some["y"], cv=pairs(len(some), 3, range(3)), **options)
    assert_same(found, whole)
    assert found.n_scored == len(some)
    assert (found.probabilities, found.scored) == ({}, None)
    assert {row.source for row in found} == {"draws"}


def test_one_fold_of_very_many_rows_is_scored_and_moments_are_told(
    some, cut, pairs, use_limits, in_parts
):
    use_limits("InferenceLimits", max_fold_rows=1500)
    use_limits("ResamplingLimits", min_moment_rows=200)
    options = {"measures": WITHOUT_SEARCH, "n_resamples": 100, "random_state": 0}
    found = compare(TRIED, in_parts(cut(some, 4)), **options)
    whole = compare(TRIED, some[NAMES], some["y"], cv=pairs(len(some), 5, [0]), **options)
    assert_same(found, whole)
    assert found.n_scored == whole.n_scored == 300
    assert {row.source for row in found} == {"moments"}
    assert "With 300 rows the intervals come from moments of sums over rows: log_loss, " in repr(
        found
    )
    all_folds = compare(TRIED, in_parts(cut(some, 4)), cv=5, **options)
    assert all_folds.n_scored == len(some)


def test_on_a_cluster(client, some, pairs, in_parts):
    import dask.dataframe as dd

    lazy = dd.from_pandas(some, npartitions=5, sort=False)
    options = {"measures": ["log_loss", "classwise_ece"], "n_resamples": 100, "random_state": 0}
    found = compare(["vector"], in_parts(lazy, client=client), cv=2, **options)
    whole = compare(["vector"], some[NAMES], some["y"], cv=pairs(len(some), 2, range(2)), **options)
    assert_same(found, whole)


def test_what_deals_rows_itself_is_refused(some, cut, in_parts):
    for calibrator in (CalibratorCV(TemperatureScaling(), {}), AutoCalibrator(cv=2)):
        with pytest.raises(ValueError, match=r"`calibrators\['own'\]` must be fitted by sums"):
            compare({"own": calibrator}, in_parts(cut(some, 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "`cv` must be"),
        ({"cv": "all"}, "`cv` must be"),
        ({"n_resamples": 5}, "`n_resamples` must be"),
        ({"measures": "log_loss"}, "`measures` must be a list"),
    ],
)
def test_bad_arguments(options, message, some, in_parts):
    with pytest.raises(ValueError, match=message):
        compare(["temperature"], in_parts([some]), **options)


def test_one_row_cannot_be_fitted_and_scored(some, in_parts):
    with pytest.raises(ValueError, match="the table has only one row"):
        compare(["temperature"], in_parts([some[:1]], scores=NAMES), classes=NAMES)


def test_weighted_rows_are_refused(frame, cut, in_parts):
    table = in_parts(cut(frame[:100], 2), weight="w")
    with pytest.raises(ValueError, match="`X` is a table with weights, 'w'"):
        compare(["temperature"], table)
    with pytest.raises(ValueError, match="`X` is a table with weights, 'w'"):
        compare(["temperature"], replace(table, limits=TableLimits()))


def test_fits_of_a_fold_begin_from_the_rows_that_an_array_would_pick(frame, cut, in_parts):
    folds = RowFolds(10)
    options = {"classes": None, "input_scale": "probability", "arguments": FITTING}
    rows = check_fit(in_parts(cut(frame, 7), scores=NAMES), None, None, **options)
    whole = check_fit(frame[NAMES], frame["y"], None, **options)
    left = np.flatnonzero(folds.of_rows(np.arange(len(frame))) != 3)
    found = rows.left_for_fit(folds, 3).source(np.transpose).subsample()
    expected = whole.take(left).source(np.transpose).subsample()
    assert found.n_samples == 4500
    np.testing.assert_array_equal(found.inputs, expected.inputs[expected.picked])
    np.testing.assert_array_equal(found.labels, expected.labels)
