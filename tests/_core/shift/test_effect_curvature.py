"""Curvature of diagonal effects: a dense Hessian, summed row by row, as oracle."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.shift.effect_curvature import (
    DenseCurvature,
    LowRankCurvature,
    diagonal_curvature,
)


def naive_hessian(proba, scores, weight):
    k, m = proba.shape
    hessian = np.zeros((2 * k + 1, 2 * k + 1))
    for r in range(m):
        jacobian = np.column_stack([scores[:, r], np.diag(scores[:, r]), np.eye(k)])
        p = proba[:, r]
        hessian += weight[r] * jacobian.T @ (np.diag(p) - np.outer(p, p)) @ jacobian
    return hessian


def problem(k, m, weight=1.0):
    rng = np.random.default_rng(k + m)
    proba = rng.dirichlet(np.ones(k), m).T
    precision = np.repeat(rng.uniform(1.0, 30.0, 3), [1, k, k])
    return proba, rng.normal(size=(k, m)), weight * rng.random(m), precision


@pytest.mark.parametrize(
    ("k", "m", "kind"),
    [
        (9, 1, LowRankCurvature),
        (9, 17, LowRankCurvature),
        (9, 18, DenseCurvature),
        (12, 60, DenseCurvature),
    ],
)
def test_few_rows_and_many_agree_with_the_whole_hessian(k, m, kind):
    proba, scores, weight, precision = problem(k, m)
    curvature = diagonal_curvature(proba, scores, weight, precision)
    assert isinstance(curvature, kind)
    hessian = naive_hessian(proba, scores, weight) + np.diag(precision)
    gradient = np.random.default_rng(0).normal(size=2 * k + 1)
    assert_allclose(curvature.solve(gradient), np.linalg.solve(hessian, gradient), rtol=1e-10)
    assert_allclose(curvature.variances, np.linalg.inv(hessian).diagonal(), rtol=1e-10)
    expected = np.linalg.slogdet(hessian)[1] - np.log(precision).sum()
    assert_allclose(curvature.log_determinant, expected, rtol=1e-10)


@pytest.mark.parametrize("m", [3, 40])
@pytest.mark.parametrize("weight", [1e12, 1e15, 1e25])
def test_weights_beyond_all_digits_stay_within_the_prior(m, weight):
    """Directions that rows do not see keep the variance of the prior, and no more."""
    proba, scores, weights, precision = problem(9, m, weight)
    curvature = diagonal_curvature(proba, scores, weights, precision)
    assert (curvature.variances > 0.0).all()
    assert (curvature.variances <= 1.0 / precision).all()
    assert curvature.log_determinant > 0.0
    assert np.isfinite(curvature.solve(np.ones(19))).all()
