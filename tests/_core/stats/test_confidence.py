import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from dircal._core.stats.confidence import (
    AbsoluteSumInversion,
    BCaBootstrap,
    BiasShiftedBootstrap,
    Moments,
    StudentisedMean,
    interval_of,
    two_sided,
)


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
