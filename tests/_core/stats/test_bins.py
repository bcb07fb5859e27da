"""Bins from exact edges, and tables that add up."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dircal._core.stats.bins import equal_mass, equal_width, paper_table, tabulate

DOUBLE = np.dtype(np.float64)


def table_of(values, outcomes, bins, weight=None):
    outcomes = np.flatnonzero(outcomes)
    return tabulate(bins, np.atleast_2d(values), (np.zeros_like(outcomes), outcomes), weight)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 25, 49, 100, 1000])
def test_every_edge_belongs_to_the_bin_below_it(n_bins):
    edges = np.array([float(Fraction(i, n_bins)) for i in range(n_bins + 1)])
    bins = equal_width(n_bins, DOUBLE)
    assert_array_equal(bins.index(edges[None])[0], np.maximum(np.arange(n_bins + 1) - 1, 0))
    above = np.nextafter(edges[:-1], 2.0)
    assert_array_equal(bins.index(above[None])[0], np.arange(n_bins))
    below = np.nextafter(edges[1:], -1.0)
    assert_array_equal(bins.index(below[None])[0], np.arange(n_bins))


@pytest.mark.parametrize(("value", "expected"), [(0.0, 0), (0.4, 5), (0.8, 11), (1.0, 14)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_edges_that_other_code_loses(value, expected, dtype):
    given_value = np.array([[value]], dtype=dtype).astype(np.float64)
    assert equal_width(15, np.dtype(dtype)).index(given_value)[0, 0] == expected


@given(st.integers(1, 60), st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_products_find_what_a_search_finds(n_bins, values):
    values = np.array([values])
    bins = equal_width(n_bins, DOUBLE)
    assert_array_equal(bins.index(values), np.searchsorted(bins.edges[0][1:-1], values, "left"))
    bins = paper_table(n_bins)
    expected = np.digitize(values, np.linspace(0, 1, n_bins)) - 1
    assert_array_equal(bins.index(values), expected)


def test_the_bins_of_the_tables_are_fourteen_and_one():
    bins = paper_table(15)
    assert bins.n_bins == 15
    values = np.array([[0.0, 1 / 14, np.nextafter(1.0, 0.0), 1.0]])
    assert_array_equal(bins.index(values), [[0, 1, 13, 14]])


def test_values_a_hair_above_one_stay_in_the_last_bin():
    assert equal_width(15, DOUBLE).index(np.array([[1.0 + 1e-9]]))[0, 0] == 14
    assert paper_table(15).index(np.array([[1.0 + 1e-9]]))[0, 0] == 14


def test_equal_mass_shares_the_rows():
    rng = np.random.default_rng(0)
    values = rng.random((3, 1000))
    bins = equal_mass(values, None, 8)
    for curve, index in zip(values, bins.index(values), strict=True):
        assert_array_equal(np.bincount(index), np.full(8, 125))
        assert max(curve[index == 0]) < min(curve[index == 1])


def test_equal_mass_with_ties_and_weights():
    values = np.array([[0.2, 0.2, 0.2, 0.9]])
    bins = equal_mass(values, None, 4)
    assert_array_equal(bins.index(values), [[0, 0, 0, 3]])
    weight = np.array([1.0, 3.0, 2.0, 2.0, 1.0, 3.0])
    spread = np.array([[0.1, 0.4, 0.3, 0.2, 0.9, 0.7]])
    repeated = np.repeat(spread, weight.astype(int), axis=1)
    once = equal_mass(repeated, None, 4).edges
    assert_array_equal(equal_mass(spread, weight, 4).edges, once)
    assert_array_equal(equal_mass(spread, weight / 12, 4).edges, once)


@pytest.mark.parametrize("chunks", [1, 7, 100])
def test_tables_add_up(chunks):
    rng = np.random.default_rng(1)
    values, outcomes = rng.random(1000), rng.random(1000) < 0.5
    bins = equal_width(15, DOUBLE)
    whole = table_of(values, outcomes, bins)
    cuts = np.array_split(np.arange(1000), chunks)
    parts = [table_of(values[cut], outcomes[cut], bins) for cut in cuts]
    added = sum(parts)
    assert_array_equal(added.count, whole.count)
    assert_array_equal(added.observed, whole.observed)
    assert_allclose(added.predicted, whole.predicted, rtol=1e-13)
    assert_allclose(added.calibration_errors, whole.calibration_errors, rtol=1e-12)


def test_tables_of_different_bins_do_not_add_up():
    one, other = np.array([0.1, 0.4]), np.array([0.2, 0.3])
    width = table_of(one, [True, False], equal_width(15, DOUBLE))
    fewer = table_of(one, [True, False], equal_width(10, DOUBLE))
    with pytest.raises(ValueError, match=r"same bins.*15 right-closed.*10 right-closed"):
        width + fewer
    with pytest.raises(ValueError, match="bins of equal mass are not"):
        table_of(one, [True, False], equal_mass(one[None], None, 2)) + table_of(
            other, [True, False], equal_mass(other[None], None, 2)
        )
    with pytest.raises(TypeError):
        width + 1


def test_what_a_table_tells():
    table = table_of([0.1, 0.2, 0.9], [False, True, True], equal_width(2, DOUBLE))
    assert_array_equal(table.count, [[2, 1]])
    assert_allclose(table.mean_predicted, [[0.15, 0.9]])
    assert_allclose(table.frequency, [[0.5, 1.0]])
    assert_allclose(table.calibration_errors, [(2 * 0.35 + 0.1) / 3])
    assert table.largest_gap == pytest.approx(0.35)
    assert repr(table) == "<BinTable: 1 curve(s) of 2 right-closed common bins, weight 3>"


def test_empty_bins_never_count():
    table = table_of([0.9, 0.9], [True, False], equal_width(15, DOUBLE))
    assert np.isnan(table.frequency).sum() == np.isnan(table.mean_predicted).sum() == 14
    assert table.largest_gap == pytest.approx(0.4)
    assert_allclose(table.calibration_errors, [0.4])


def test_weights_count_like_copies():
    values, outcomes = np.array([0.1, 0.15, 0.9]), np.array([True, False, True])
    bins = equal_width(5, DOUBLE)
    weighted = table_of(values, outcomes, bins, np.array([2.0, 3.0, 1.0]))
    copied = table_of(values.repeat([2, 3, 1]), outcomes.repeat([2, 3, 1]), bins)
    for part in ("count", "predicted", "observed"):
        assert_allclose(getattr(weighted, part), getattr(copied, part), rtol=1e-14)


@pytest.mark.parametrize("n_bins", [15, 256, 300, 1000, 5000])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_many_bins_in_low_precision(n_bins, dtype):
    values = np.linspace(0, 1, 4001).astype(dtype).astype(float)
    edges = (np.arange(1, n_bins) / n_bins).astype(dtype).astype(float)
    expected = [(edges < value).sum() for value in values]
    assert_array_equal(equal_width(n_bins, np.dtype(dtype)).index(values[None])[0], expected)


@pytest.mark.parametrize("bins", [equal_width(20_000, DOUBLE), paper_table(20_000)])
def test_values_above_one_are_in_the_last_of_many_bins(bins):
    assert_array_equal(bins.index(np.array([[1.0001, 1.0, 0.0]])), [[19_999, 19_999, 0]])
