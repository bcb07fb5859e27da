import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.isotonic import IsotonicRegression

from dircal._core.data.array_source import ArraySource
from dircal._core.stats import score_sums
from dircal._core.stats.isotonic import fit_isotonic
from dircal._core.stats.score_sums import isotonic_curve, sum_by_bin, sum_by_score


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
