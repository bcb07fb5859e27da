"""Bins, bands, intervals, curves of scores and the order of columns."""

import pickle
import time
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from dircal._core.data.array_source import ArraySource
from dircal._core.stats import score_sums
from dircal._core.stats.bands import consistency_band
from dircal._core.stats.bins import equal_mass, equal_width, paper_table, tabulate
from dircal._core.stats.chances import ChanceSums
from dircal._core.stats.column_order import better_order
from dircal._core.stats.confidence import (
    AbsoluteSumInversion,
    BCaBootstrap,
    BiasShiftedBootstrap,
    Moments,
    StudentisedMean,
    interval_of,
    two_sided,
)
from dircal._core.stats.isotonic import fit_isotonic
from dircal._core.stats.score_sums import isotonic_curve, sum_by_bin, sum_by_score

# Bins from exact edges, and tables that add up.


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


# Consistency bands against the binomial distribution and against draws.


TEN = equal_width(10, np.dtype(np.float64))


def bands(values, level):
    """Lower and upper ends (c, m) of the bands of some curves."""
    found = [
        consistency_band(chances, 10, level) for chances in ChanceSums.of(values, TEN).finish()
    ]
    return np.array(found).transpose(1, 0, 2)


def test_equal_probabilities_give_the_binomial():
    values = np.full((1, 50), 0.35)
    low, high = bands(values, 0.9)
    assert low[0, 3] * 50 == binom.ppf(0.05, 50, 0.35)
    assert high[0, 3] * 50 == binom.ppf(0.95, 50, 0.35)
    assert np.isnan(np.delete(low, 3)).all()
    assert np.isnan(np.delete(high, 3)).all()


def test_sure_rows_leave_nothing_to_chance():
    low, high = bands(np.ones((1, 7)), 0.95)
    assert low[0, 9] == high[0, 9] == 1.0


def test_the_band_covers_what_it_says():
    rng = np.random.default_rng(0)
    values = rng.random((2, 400))
    low, high = bands(values, 0.9)
    index = TEN.index(values)
    for curve in range(2):
        for b in range(10):
            members = values[curve, index[curve] == b]
            drawn = (rng.random((4000, len(members))) < members).mean(axis=1)
            inside = np.mean((drawn >= low[curve, b]) & (drawn <= high[curve, b]))
            # At least the level, up to three standard errors of 4000 draws.
            assert inside > 0.9 - 3 * np.sqrt(0.09 / 4000)
            assert np.mean(drawn <= low[curve, b]) > 0.05 - 3 * np.sqrt(0.0475 / 4000)


def test_bins_of_each_curve():
    values = np.array([[0.1, 0.2, 0.8, 0.9], [0.5, 0.6, 0.7, 0.8]])
    both = bands(values, 0.5)
    for curve in range(2):
        alone = bands(values[[curve]], 0.5)
        np.testing.assert_array_equal(both[0][[curve]], alone[0])
        np.testing.assert_array_equal(both[1][[curve]], alone[1])


def test_without_rows_there_is_no_band():
    low, high = consistency_band([], 4, 0.9)
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def draws_of_mean(values, n_resamples=4000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice(values, (n_resamples, len(values))).mean(axis=1)


def all_kinds(seed=0):
    rng = np.random.default_rng(seed)
    values = rng.exponential(size=80)
    gaps = rng.normal(scale=0.1, size=12)
    return [
        BCaBootstrap(draws_of_mean(values, seed=seed), Moments.of(values)),
        StudentisedMean(Moments.of(values), 4000),
        StudentisedMean(Moments.of(rng.standard_t(3, size=30)), 4000),
        BiasShiftedBootstrap(rng.normal(size=4000), 0.3),
        AbsoluteSumInversion(gaps, rng.normal(scale=0.05, size=(4000, 12))),
    ]


@given(st.integers(0, 1000), st.floats(0.02, 0.98))
def test_positions_undo_quantiles(seed, confidence):
    for kind in all_kinds(seed):
        value = kind.quantile(confidence)
        if isinstance(kind, AbsoluteSumInversion) and value == 0.0:
            assert kind.position(0.0) >= confidence
        else:
            # Between two draws of 4000.
            assert kind.position(value) == pytest.approx(confidence, abs=6e-4)


@given(st.integers(0, 1000))
def test_pvalues_are_small_where_intervals_leave_the_value_out(seed):
    for kind in all_kinds(seed):
        low, high = interval_of(kind, 0.9)
        assert low <= high
        width = high - low
        for value in (low - 0.05 * width, high + 0.05 * width):
            if value > 0 or not isinstance(kind, AbsoluteSumInversion):
                assert two_sided([kind], value) < 0.1 + 1e-3
        assert two_sided([kind], (low + high) / 2) > 0.1 - 1e-3


def test_means_have_the_interval_of_scipy():
    values = np.random.default_rng(0).exponential(size=60) ** 1.5
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=5000, method="BCa", rng=np.random.default_rng(1)
    )
    draws = theirs.bootstrap_distribution
    ours = interval_of(BCaBootstrap(draws, Moments.of(values)), 0.95)
    assert_allclose(ours, theirs.confidence_interval, rtol=1e-12)
    plain = np.quantile(draws, [0.025, 0.975])
    assert np.abs(np.subtract(ours, plain)).max() > 0.1 * draws.std()


def test_constant_losses_have_an_interval_of_one_point():
    kind = BCaBootstrap(np.full(200, 0.25), Moments.of(np.full(9, 0.25)))
    assert interval_of(kind, 0.95) == (0.25, 0.25)
    assert two_sided([kind], 0.25) == pytest.approx(1.0)
    assert two_sided([kind], 0.3) == pytest.approx(1 / 200)


def test_a_skewness_that_may_be_chance_leaves_the_t_test():
    values = np.random.default_rng(0).standard_t(3, size=100)
    kind = StudentisedMean(Moments.of(values), 4000)
    theirs = stats.ttest_1samp(values, 0.1)
    assert two_sided([kind], 0.1) == pytest.approx(theirs.pvalue, rel=1e-12)
    assert_allclose(interval_of(kind, 0.9), theirs.confidence_interval(0.9), rtol=1e-12)


def test_skew_means_by_the_definition():
    values = np.random.default_rng(0).exponential(size=500)
    n, s = len(values), values.std(ddof=1)
    skewness = stats.skew(values)
    without_each = [stats.skew(np.delete(values, i)) for i in range(n)]
    variance = (n - 1) * np.var(without_each)
    # The jackknife and the delta method agree as far as the rows go.
    g = skewness * (1 - 8 * variance / skewness**2)
    for value in (0.9, 1.0, 1.1):
        w = (values.mean() - value) / s
        t = np.sqrt(n) * (w + g * w**2 / 3 + g**2 * w**3 / 27 + g / (6 * n))
        assert StudentisedMean(Moments.of(values), 4000).position(value) == pytest.approx(
            stats.t.sf(t, n - 1), abs=1e-3
        )
    # Exponential losses have a long tail above: the interval reaches farther there.
    low, high = interval_of(StudentisedMean(Moments.of(values), 4000), 0.95)
    assert high - values.mean() > 1.05 * (values.mean() - low)


def test_two_rows_far_out_make_no_skewness():
    values = np.repeat([0.0, 1.0], [198, 2])
    assert two_sided([StudentisedMean(Moments.of(values), 4000)], 0.0) == pytest.approx(
        stats.ttest_1samp(values, 0.0).pvalue
    )


def test_constant_values_have_a_mean_of_one_point():
    kind = StudentisedMean(Moments.of(np.full(9, 0.1) + 1e-17 * np.arange(9)), 4000)
    low, high = interval_of(kind, 0.95)
    assert low == high == pytest.approx(0.1)
    assert two_sided([kind], 0.1) == 1.0
    for value in (0.3, -0.3):
        assert two_sided([kind], value) == pytest.approx(1 / 4000)


def test_gaps_by_the_definition():
    rng = np.random.default_rng(0)
    gaps, noise = rng.normal(scale=0.1, size=9), rng.normal(scale=0.05, size=(1000, 9))
    kind = AbsoluteSumInversion(gaps, noise)
    measured = np.abs(gaps).sum()
    for factor in (0.0, 0.5, 1.0, 1.7):
        larger = [sum(abs(factor * g + d) for g, d in zip(gaps, row, strict=True)) for row in noise]
        share = np.mean(np.array(larger) > measured)
        expected = min(max(share, 1 / 2000), 1 - 1 / 2000)
        assert kind.position(factor * measured) == pytest.approx(expected)
    assert kind.position(-0.1) == 0.0


def test_chance_alone_is_taken_off():
    """True gaps are zero: the measured sum is all chance, and the interval reaches down to it."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        gaps = rng.normal(scale=0.05, size=30)
        kind = AbsoluteSumInversion(gaps, rng.normal(scale=0.05, size=(500, 30)))
        low, high = interval_of(kind, 0.95)
        held += low == 0.0
        assert high < 0.8 * np.abs(gaps).sum() + 0.6
    assert held >= 185  # 195 expected: the upper tail is 2.5 %


def test_true_gaps_are_found():
    rng = np.random.default_rng(2)
    truth = np.full(30, 0.1) * np.sign(rng.normal(size=30))
    held = 0
    for _ in range(200):
        gaps = truth + rng.normal(scale=0.05, size=30)
        low, high = interval_of(
            AbsoluteSumInversion(gaps, rng.normal(scale=0.05, size=(500, 30))), 0.95
        )
        held += low <= 3.0 <= high
    # All true gaps are alike, the measured ones are not: the worst case for moving along them.
    assert held >= 165


def test_nothing_measured_is_nothing():
    kind = AbsoluteSumInversion(np.zeros(3), np.zeros((100, 3)))
    assert interval_of(kind, 0.95) == (0.0, 0.0)
    # As sure as a hundred draws allow.
    assert kind.position(0.01) == 1.0 - 1.0 / 200.0


def test_few_draws_give_no_more_confidence_than_they_have():
    kind = AbsoluteSumInversion(np.array([0.1]), np.linspace(-0.1, 0.1, 100)[:, None])
    assert np.isfinite(kind.quantile(0.99999))


def test_of_several_ways_the_most_careful_counts():
    draws = np.random.default_rng(0).normal(size=1000)
    near, far = BiasShiftedBootstrap(draws, -0.5), BiasShiftedBootstrap(draws, -3.0)
    assert two_sided([near, far], 0.0) == two_sided([near], 0.0) > two_sided([far], 0.0)


def test_draws_that_measure_as_much_without_any_error_are_no_larger_ones():
    """Draws without a gap: sums of |1 - factor| times the gaps, which are larger from two on."""
    gaps = np.array([0.1, 0.2, 0.3])
    kind = AbsoluteSumInversion(gaps, np.tile(-gaps, (100, 1)))
    assert kind.position(0.0) == 0.5
    assert kind.quantile(0.9) == pytest.approx(2.0 * gaps.sum(), rel=1e-5)


def source_of(scores, labels, weight=None, chunk_rows=None):
    return ArraySource(scores[:, None], labels, weight, np.transpose, chunk_rows=chunk_rows)


def problem(seed, n, scale="probability"):
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=4.0, size=n)
    labels = (rng.random(n) < 1.0 / (1.0 + np.exp(-0.5 * z - 0.3))).astype(int)
    return (z if scale == "logit" else 1.0 / (1.0 + np.exp(-z))), labels


def brier(knots, values, scores, labels):
    return float(np.mean((np.interp(scores, knots, values) - labels) ** 2))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunk_rows", [7, 100, 1000])
def test_few_scores_are_exact(chunk_rows, weighted):
    rng = np.random.default_rng(0)
    scores = rng.choice([0.0, 5e-324, 0.1, 0.5, 0.7, 1.0 - 1e-16, 1.0, 1.0 + 1e-7], size=700)
    labels = rng.integers(0, 2, size=700)
    weight = rng.integers(0, 4, size=700).astype(float) if weighted else None
    cells = sum_by_score(source_of(scores, labels, weight, chunk_rows), "probability")
    w = np.ones(700) if weight is None else weight
    distinct = np.unique(scores)
    assert_array_equal(cells.low, distinct)
    assert_array_equal(cells.high, distinct)
    assert_array_equal(cells.weight, [w[scores == s].sum() for s in distinct])
    assert_array_equal(cells.events, [(w * labels)[scores == s].sum() for s in distinct])
    assert cells.n_dropped == 0


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 400),
    most_cells=st.integers(2, 60),
    chunk_rows=st.integers(1, 400),
    scale=st.sampled_from(["probability", "logit"]),
)
def test_cells_do_not_depend_on_chunks(seed, n, most_cells, chunk_rows, scale):
    scores, labels = problem(seed, n, scale)
    whole = sum_by_score(source_of(scores, labels, chunk_rows=n), scale, most_cells)
    parts = sum_by_score(source_of(scores, labels, chunk_rows=chunk_rows), scale, most_cells)
    for name in ("low", "high", "weight", "events", "n_dropped"):
        assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert len(whole.low) <= most_cells
    assert whole.weight.sum() == n
    assert whole.events.sum() == labels.sum()
    assert (whole.low <= whole.high).all()
    assert (whole.high[:-1] < whole.low[1:]).all()
    # Less was not enough to drop, and every score is in one of the cells.
    if whole.n_dropped:
        key = score_sums._digits if scale == "logit" else score_sums._digits_of_proba
        assert len(np.unique(key(scores) >> (whole.n_dropped - 1))) > most_cells
    places = np.searchsorted(whole.low, scores, side="right") - 1
    assert_array_equal(np.bincount(places), whole.weight)
    assert (scores <= whole.high[places]).all()


@given(st.lists(st.floats(-1e100, 1e100), min_size=2, unique=True))
def test_digits_are_in_order(scores):
    ordered = np.sort(np.array(scores) + 0.0)
    assert (np.diff(score_sums._digits(ordered).astype(object)) >= 0).all()


@given(st.lists(st.floats(0.0, 1.0 + 1e-6), min_size=2, unique=True))
def test_digits_of_probabilities_are_in_order_and_tell_them_apart(proba):
    ordered = np.unique(np.array(proba) + 0.0)
    assert (np.diff(score_sums._digits_of_proba(ordered).astype(object)) > 0).all()


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_isotonic_curve_is_exact_with_few_scores(scale):
    scores, labels = problem(0, 3000, scale)
    scores = np.round(scores, 2)
    knots, values = isotonic_curve(sum_by_score(source_of(scores, labels, chunk_rows=99), scale))
    expected = fit_isotonic(scores, labels, None)
    assert_array_equal(knots, expected.scores)
    assert_allclose(values, expected.values, rtol=1e-14)
    library = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, labels)
    assert_allclose(np.interp(scores, knots, values), library.predict(scores), atol=1e-12)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_isotonic_curve_of_a_grid_is_as_good(scale):
    """With 500 cells for 60 000 scores; 2**20 are two thousand times as many."""
    scores, labels = problem(1, 60_000, scale)
    best = fit_isotonic(scores, labels, None)
    at_best = brier(best.scores, best.values, scores, labels)
    cells = sum_by_score(source_of(scores, labels), scale, 500)
    assert cells.n_dropped > 0
    knots, values = isotonic_curve(cells)
    assert (np.diff(values) >= 0).all()
    assert at_best <= brier(knots, values, scores, labels) <= 1.005 * at_best
    fresh, seen = problem(2, 60_000, scale)
    ratio = brier(knots, values, fresh, seen) / brier(best.scores, best.values, fresh, seen)
    assert ratio == pytest.approx(1.0, abs=0.005)


def test_sums_by_bin():
    scores, labels = problem(3, 1000)
    weight = np.random.default_rng(0).integers(0, 3, size=1000).astype(float)
    edges = np.array([0.2, 0.2, 0.5, scores[0]])
    found = sum_by_bin(source_of(scores, labels, weight, chunk_rows=64), np.sort(edges))
    bins = np.digitize(scores, np.sort(edges))
    assert_array_equal(found[0], np.bincount(bins, weight, 5))
    assert_array_equal(found[1], np.bincount(bins, weight * labels, 5))


def test_fractional_weights_stay_as_they_are():
    scores, labels = problem(4, 500)
    weight = np.random.default_rng(0).random(500)
    cells = sum_by_score(source_of(scores, labels, weight, chunk_rows=50), "probability")
    assert_allclose(cells.weight, weight[np.argsort(scores)], rtol=1e-15)


def test_sums_travel():
    """To workers and back, as sources on a cluster send them."""
    scores, labels = problem(5, 100)
    function = partial(score_sums._sums_of_chunk, "probability", 10, 100.0)
    function = pickle.loads(pickle.dumps(function))
    total = pickle.loads(pickle.dumps(source_of(scores, labels, chunk_rows=9).fold(function)))
    assert len(total.cells().low) <= 10


# Another order of columns is found where there is one, and nowhere else.


def find(logits, y, *, is_probability=False):
    k = logits.shape[1]
    return better_order(lambda part: logits[part], y, k, is_probability=is_probability)


def sampled(rng, n, k, scale=2.0):
    """Logits whose softmax is right."""
    logits = rng.normal(scale=scale, size=(n, k))
    return logits, (logits + rng.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.parametrize("k", [2, 3, 10, 40])
@pytest.mark.parametrize("sharpness", [0.01, 1.0, 100.0])
def test_any_permutation_is_found_whatever_the_temperature(k, sharpness):
    rng = np.random.default_rng(k)
    logits, y = sampled(rng, 100 * k, k)
    assert find(sharpness * logits, y) is None
    for order in (np.arange(k)[::-1], np.roll(np.arange(k), 1), np.r_[1, 0, 2:k]):
        found = find(sharpness * logits[:, order], y)
        assert found.columns[order].tolist() == np.argsort(order)[order].tolist()
        truth = float((logits.argmax(axis=1) == y).mean())
        assert found.better_accuracy == pytest.approx(truth, abs=0.03)
        assert found.accuracy == np.mean(logits[:, order].argmax(axis=1) == y)


def test_probabilities_with_zeros():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 300, 4, scale=3.0)
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    proba = np.where(proba < 0.05, 0.0, proba)
    assert find(proba, y, is_probability=True) is None
    assert find(proba[:, [1, 0, 3, 2]], y, is_probability=True).columns.tolist() == [1, 0, 3, 2]
    masked = np.where(np.arange(4) == 2, -np.inf, logits)
    assert find(masked, y) is None


def no_better(rng, n, k):
    return rng.normal(size=(n, k)), rng.integers(0, k, n)


def too_fond_of_one(rng, n, k):
    """Nearly all rows have label 0 and are taken for label 1, as are those of label 1."""
    y = np.where(rng.random(n) < 0.9, 0, rng.integers(0, k, n))
    logits = rng.normal(size=(n, k)) + 2.0 * np.eye(k)[y]
    logits[:, 1] += 6.0
    return logits, y


def pairs_alike(rng, n, k):
    """Labels 0 and 1 look alike, and so do 2 and 3, and so on."""
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, k)) + 5.0 * np.eye(k)[y] + 5.0 * np.eye(k)[y ^ 1], y


def one_way(rng, n, k):
    """Every label is taken for the even one of its pair."""
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, k)) + 5.0 * np.eye(k)[y // 2 * 2], y


def wrong_twice_as_often_as_right(rng, n, k):
    """Of labels 0 and 1, two thirds of the rows are taken for the other."""
    y = rng.integers(0, k + 1, n)
    said = np.where((y < 2) & (rng.random(n) < 2 / 3), 1 - y, y)
    return rng.normal(size=(n, k + 1)) + 6.0 * np.eye(k + 1)[said], y


def many_classes_few_rows(rng, n, k):
    return sampled(rng, n, 10 * k, scale=0.5)


def always_the_same(rng, n, k):
    return np.zeros((n, k)), rng.integers(0, k, n)


CONFUSED = [
    no_better,
    too_fond_of_one,
    pairs_alike,
    one_way,
    wrong_twice_as_often_as_right,
    many_classes_few_rows,
    always_the_same,
]


@pytest.mark.parametrize("make", CONFUSED, ids=lambda make: make.__name__)
@pytest.mark.parametrize(("n", "k"), [(60, 4), (500, 10), (3000, 4)])
def test_confusion_of_classes_is_not_one_of_columns(make, n, k):
    rng = np.random.default_rng(n)
    assert [find(*make(rng, n, k)) for _ in range(20)] == [None] * 20


def test_cycles_without_evidence_are_not_named():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 1500, 60, scale=1.0)
    order = np.r_[1, 0, 2:60]
    logits[:, :2] = 3.0 * logits[:, :2] + 3.0  # two large classes in a crowd of weak ones
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    found = find(logits[:, order], y)
    assert (found.columns != np.arange(60)).sum() <= 4
    assert found.columns[:2].tolist() == [1, 0]


def test_few_rows_and_rows_that_are_left_out():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 200, 3)
    turned = logits[:, [1, 2, 0]]
    assert find(turned[:16], y[:16]) is None
    assert find(turned, np.full(200, -1)) is None
    assert find(turned, np.where(np.arange(200) < 150, y, -1)) is not None


def test_every_so_many_rows_tell_the_same(use_limits):
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 3000, 5)
    turned = logits[:, [1, 2, 0, 4, 3]]
    whole = find(turned, y)
    use_limits("OrderLimits", max_numbers=5 * 500, max_kept=5 * 400)
    use_limits("DataLimits", chunk_elements=5 * 7, min_chunk_rows=7)
    part = find(turned, y)
    assert part.columns.tolist() == whole.columns.tolist()
    assert part.accuracy == np.mean(turned[::6].argmax(axis=1) == y[::6])


def test_a_thousand_classes_cost_little():
    rng = np.random.default_rng(0)
    logits, y = sampled(rng, 4000, 1000, scale=4.0)
    began = time.process_time()
    assert find(logits, y) is None
    assert find(logits[:, ::-1], y) is not None
    assert time.process_time() - began < 3.0
