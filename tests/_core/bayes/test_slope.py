"""The slope of the temperature map with a prior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from scipy.stats import logistic

from dircal._core.bayes.slope import log_slope_prior, most_probable_slope
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal.maps import CalibrationMap, LogSoftmax

SCALE = np.log(2.0) / np.log(3.0)
LIMITS = {"tol": 1e-14, "max_iter": 100}


def rows_of(logits, y, weight=None):
    read = CalibrationMap(logits.shape[1], (LogSoftmax(),)).read
    return Rows(ArraySource(logits, y, weight, read))


def naive(logits, y):
    """Minus the logarithm of likelihood times prior, as a function of the logarithm."""
    scores = log_softmax(logits, axis=1)

    def function(u):
        losses = -log_softmax(np.exp(u) * scores, axis=1)[np.arange(len(y)), y]
        return losses.sum() - logistic.logpdf(u, scale=SCALE)

    return function


@pytest.mark.parametrize("u", [-30.0, -1.0, 0.0, 0.3, 5.0])
def test_the_prior_is_logistic_with_quartiles_at_a_factor_of_two(u):
    assert_allclose(log_slope_prior(u), logistic.logpdf(u, scale=SCALE), rtol=1e-12)
    assert_allclose(logistic.cdf(np.log(2.0), scale=SCALE), 0.75)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("n", [20, 300])
def test_it_is_the_largest_posterior_and_its_occam_factor_an_integral(k, n, make_problem):
    problem = make_problem(2, n=n, k=k)
    found = most_probable_slope(rows_of(problem.logits, problem.y), start=0.3, **LIMITS)
    function = naive(problem.logits, problem.y)
    best = minimize_scalar(function, bounds=(-4.0, 3.0), method="bounded", options={"xatol": 1e-9})
    assert_allclose(np.log(found.slope), best.x, atol=1e-6)
    integral, _ = quad(lambda u: np.exp(best.fun - function(u)), -6.0, 6.0, points=[best.x])
    log_prior = logistic.logpdf(best.x, scale=SCALE)
    # Laplace's approximation.
    assert_allclose(found.log_occam_factor, np.log(integral) + log_prior, atol=3.0 / n)


def test_a_classifier_without_errors_has_a_finite_slope():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(50, 3))
    y = logits.argmax(axis=1)
    found = [most_probable_slope(rows_of(logits, y), start=a, **LIMITS).slope for a in (1.0, 1e3)]
    assert 1.0 < found[0] < 100.0
    assert_allclose(found[1], found[0], rtol=1e-6)


def test_scores_that_point_away_or_tell_nothing():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 3))
    away = most_probable_slope(rows_of(logits, logits.argmin(axis=1)), start=1e-6, **LIMITS)
    assert 0.0 < away.slope < 0.1
    flat = most_probable_slope(rows_of(np.zeros((5, 3)), np.arange(5) % 3), start=1.0, **LIMITS)
    assert_allclose(flat.slope, 1.0)
    assert np.isfinite(flat.log_occam_factor)


def test_weights_are_copies(make_problem):
    problem = make_problem(0, n=60, k=3)
    weighted = rows_of(problem.logits, problem.y, np.full(60, 3.0))
    copies = rows_of(np.tile(problem.logits, (3, 1)), np.tile(problem.y, 3))
    found = [most_probable_slope(rows, start=1.0, **LIMITS) for rows in (weighted, copies)]
    assert_allclose(found[0].slope, found[1].slope, rtol=1e-9)
    assert_allclose(found[0].log_occam_factor, found[1].log_occam_factor, rtol=1e-9)
