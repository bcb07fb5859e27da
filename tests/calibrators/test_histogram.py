import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dircal import HistogramCalibrator


def naive(scores, y, edges):
    """Probability of each bin, counted one row after another; the last fitting edge wins."""
    hits, counts = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    for score, label in zip(scores, y, strict=True):
        b = max(i for i in range(len(edges) - 1) if edges[i] <= score)
        hits[b] += label
        counts[b] += 1
    return (hits + 1) / (counts + 2)


def frequency_edges(scores, n_bins):
    """Every ceil(n / m)-th of the sorted scores is a left edge."""
    step = int(np.ceil(len(scores) / n_bins))
    left = sorted(scores)[::step]
    return np.array([-np.inf, *left[1:], np.inf])


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    n_bins=st.integers(1, 20),
    digits=st.integers(1, 6),
)
def test_equal_width_is_the_formula(seed, n, n_bins, digits):
    rng = np.random.default_rng(seed)
    p, y = rng.random(n).round(digits), rng.integers(0, 2, n)
    for where in ("data", "unit"):
        fit = HistogramCalibrator(n_bins=n_bins, edges=where, classes=[0, 1]).fit(p, y)
        low, high = (p.min(), p.max()) if where == "data" else (0.0, 1.0)
        edges = np.linspace(low, high, n_bins + 1)
        edges[0], edges[-1] = -np.inf, np.inf
        assert_array_equal(fit.bin_edges_, edges)
        assert_allclose(fit.bin_proba_, naive(p, y, edges))


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    n_bins=st.integers(1, 20),
    digits=st.integers(1, 6),
)
def test_equal_frequency_is_the_formula(seed, n, n_bins, digits):
    rng = np.random.default_rng(seed)
    p, y = rng.random(n).round(digits), rng.integers(0, 2, n)
    fit = HistogramCalibrator(n_bins=n_bins, strategy="frequency", classes=[0, 1]).fit(p, y)
    edges = frequency_edges(p, n_bins)
    assert_array_equal(fit.bin_edges_, edges)
    assert_allclose(fit.bin_proba_, naive(p, y, edges))
    assert len(fit.bin_proba_) <= n_bins


@given(seed=st.integers(0, 2**32 - 1), n_bins=st.integers(1, 12))
def test_weights_move_frequency_edges_like_repeated_rows(seed, n_bins):
    rng = np.random.default_rng(seed)
    p, y, weight = rng.random(40).round(2), rng.integers(0, 2, 40), rng.integers(0, 4, 40)
    weight[0] = 1
    make = HistogramCalibrator(n_bins=n_bins, strategy="frequency", classes=[0, 1])
    weighted = make.fit(p, y, weight)
    edges, proba = weighted.bin_edges_, weighted.bin_proba_
    repeated = make.fit(np.repeat(p, weight), np.repeat(y, weight))
    assert_array_equal(edges, repeated.bin_edges_)
    assert_allclose(proba, repeated.bin_proba_)


def test_shares_as_weights_still_make_bins():
    """Weights that sum to one are not one row: the bins follow the weight."""
    rng = np.random.default_rng(0)
    p, y = rng.random(1000), rng.integers(0, 2, 1000)
    fit = HistogramCalibrator(strategy="frequency").fit(p, y, np.full(1000, 1e-3))
    assert len(fit.bin_proba_) == 10
    assert_allclose(fit.bin_counts_, 0.1, atol=2e-3)
    uneven = HistogramCalibrator(strategy="frequency", n_bins=2).fit(
        p, y, np.where(p < 0.5, 0.3, 0.1)
    )
    assert_allclose(uneven.bin_counts_, uneven.bin_counts_.mean(), rtol=2e-3)
    assert uneven.bin_edges_[1] == pytest.approx(1 / 3, abs=0.05)


def test_empty_bins_say_one_half():
    fit = HistogramCalibrator(n_bins=4).fit([0.0, 0.1, 0.9, 1.0], [0, 1, 1, 1])
    assert_allclose(fit.bin_proba_, [0.5, 0.5, 0.5, 0.75])
    assert_array_equal(fit.bin_counts_, [2, 0, 0, 2])
    assert_allclose(fit.predict_proba([0.4, 0.6])[:, 1], 0.5)


def test_a_bin_holds_its_left_edge():
    fit = HistogramCalibrator(n_bins=2, edges="unit").fit([0.1, 0.5, 0.9], [0, 1, 1])
    assert_array_equal(fit.bin_counts_, [1, 2])
    assert fit.predict_proba([0.5])[0, 1] == 0.75
    assert fit.predict_proba([np.nextafter(0.5, 0.0)])[0, 1] == pytest.approx(1 / 3)


def test_scores_beyond_those_of_the_fit_belong_to_the_outer_bins():
    fit = HistogramCalibrator(n_bins=2).fit([0.4, 0.5, 0.6, 0.6], [0, 0, 1, 1])
    assert_allclose(fit.predict_proba([0.0, 1.0]), fit.predict_proba([0.4, 0.6]))


def test_equal_scores_share_the_last_of_equal_edges():
    p = np.array([0.0] * 30 + [0.5] * 30 + [1.0] * 30)  # three neighbours
    y = np.arange(90) % 3 == 0
    fit = HistogramCalibrator(strategy="frequency").fit(p, y)
    assert_array_equal(fit.bin_counts_[fit.bin_counts_ > 0], [30, 30, 30])
    assert_allclose(fit.predict_proba([0.0, 0.5, 1.0])[:, 1], 11 / 32)


def test_one_score_only():
    fit = HistogramCalibrator().fit([0.3, 0.3, 0.3], [0, 1, 1])
    assert fit.predict_proba([0.3])[0, 1] == pytest.approx(3 / 5)


BAD = {
    "n_bins": ({"n_bins": 0}, r"`n_bins` must be a whole number of at least 1; got 0"),
    "strategy": ({"strategy": "mass"}, r"`strategy` must be one of 'width', 'frequency'"),
    "edges": ({"edges": "open"}, r"`edges` must be one of 'data', 'unit'; got 'open'"),
    "edges of frequency": (
        {"edges": "unit", "strategy": "frequency"},
        r"`edges` is 'unit'.*strategy='frequency'.*Leave `edges`",
    ),
    "edges of logits": (
        {"edges": "unit", "input_scale": "logit"},
        r"`edges` is 'unit'.*input_scale='logit'.*Leave `edges`",
    ),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        HistogramCalibrator(**options).fit([0.1, 0.6], [0, 1])
