import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.isotonic import IsotonicRegression

from dircal import IsotonicCalibrator


def naive(scores, y, weight):
    """Largest of the smallest means: the value at s is max over a <= s of min over b >= s."""
    knots = np.unique(scores)
    values = np.empty(len(knots))
    for i in range(len(knots)):
        values[i] = max(
            min(
                np.average(y[inside], weights=weight[inside])
                for b in knots[i:]
                if (inside := (scores >= a) & (scores <= b)).any()
            )
            for a in knots[: i + 1]
        )
    return knots, values


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 25), digits=st.integers(1, 6))
def test_it_is_the_formula(seed, n, digits):
    rng = np.random.default_rng(seed)
    p, y, weight = rng.random(n).round(digits), rng.integers(0, 2, n), rng.integers(1, 4, n)
    fit = IsotonicCalibrator(classes=[0, 1]).fit(p, y, weight)
    knots, values = naive(p, y, weight)
    assert_allclose(fit.predict_proba(knots)[:, 1], values, atol=1e-12)
    between = rng.random(40)
    expected = np.interp(between, knots, values)
    assert_allclose(fit.predict_proba(between)[:, 1], expected, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 300))
def test_the_map_never_falls(seed, n):
    rng = np.random.default_rng(seed)
    p = 10.0 ** -rng.uniform(0, rng.choice([1, 20, 323]), n)
    fit = IsotonicCalibrator(classes=[0, 1]).fit(p, rng.integers(0, 2, n))
    grid = np.sort(np.r_[p, 10.0 ** -rng.uniform(0, 323, 200), 0.0, 1.0])
    positive = fit.predict_proba(grid)[:, 1]
    assert (np.diff(positive) >= 0).all()
    assert positive.min() >= 0.0
    assert positive.max() <= 1.0


def test_it_agrees_with_scikit_learn_where_scores_are_far_apart(make_problem):
    problem = make_problem(0, n=1000, k=2)
    p, y = problem.proba[:, 1].round(4), problem.y
    weight = np.random.default_rng(0).random(1000)
    theirs = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(p, y, weight)
    fit = IsotonicCalibrator().fit(p, y, weight)
    grid = np.linspace(0, 1, 1001)
    assert_allclose(fit.predict_proba(grid)[:, 1], theirs.predict(grid), atol=1e-9)


def test_scores_that_differ_are_never_merged():
    """Naive Bayes says 1e-30 and 1e-20; newer scikit-learn takes them for equal."""
    p = np.array([1e-30, 1e-20, 1e-18, 0.5])
    fit = IsotonicCalibrator().fit(p, [0, 1, 1, 1])
    assert_array_equal(fit.predict_proba(p)[:, 1], [0, 1, 1, 1])
    neighbours = np.array([0.5, np.nextafter(0.5, 1.0)])
    fit = IsotonicCalibrator().fit(neighbours, [0, 1])
    assert_array_equal(fit.predict_proba(neighbours)[:, 1], [0, 1])


def test_equal_scores_are_merged():
    p = np.array([0.2, 0.2, 0.2, 0.6, 0.6])
    fit = IsotonicCalibrator().fit(p, [0, 1, 0, 1, 1])
    assert_allclose(fit.predict_proba([0.2, 0.4, 0.6])[:, 1], [1 / 3, 2 / 3, 1])
    assert_array_equal(fit.knots_, [0.2, 0.6])


def test_beyond_the_ends_it_stays():
    fit = IsotonicCalibrator().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert_allclose(fit.predict_proba([0.0, 0.2, 0.8, 1.0])[:, 1], [0, 0, 1, 1])


def test_only_the_ends_of_steps_are_kept(make_problem):
    problem = make_problem(1, n=5000, k=2)
    fit = IsotonicCalibrator().fit(problem.proba, problem.y)
    assert len(fit.knots_) < 300
    assert (np.diff(fit.knots_) > 0).all()
    assert (np.diff(fit.values_) >= 0).all()


def test_subnormal_gaps_do_not_overflow():
    p = np.array([0.0, 5e-324, 1.5e-323, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = IsotonicCalibrator().fit(p, [0, 0, 1, 1])
        assert_array_equal(fit.predict_proba(p)[:, 1], [0, 0, 1, 1])
        assert_allclose(fit.predict_proba([1e-323])[:, 1], 0.5)


def test_log_odds_tell_apart_what_rounds_to_one():
    odds = np.array([-50.0, 40.0, 50.0, 60.0])
    fit = IsotonicCalibrator(input_scale="logit").fit(odds, [0, 0, 1, 1])
    assert_array_equal(fit.predict_proba(odds)[:, 1], [0, 0, 1, 1])
    rounded = 1 / (1 + np.exp(-odds))
    fit = IsotonicCalibrator().fit(rounded, [0, 0, 1, 1])
    assert fit.predict_proba(rounded)[1, 1] == pytest.approx(2 / 3)
