"""Evidence of a parabola, against linear algebra written out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import gamma, multivariate_normal

from dircal._core.bayes.curvature import Blocks, Curvature
from dircal._core.bayes.prior import GroupedGaussianPrior, curved_prior
from dircal._core.model.structure import Full

RNG = np.random.default_rng(0)
K = 3
MODE = np.array([3.0, 6.0, 3.0, 1.0, 8.0, 24.0])
PRIOR = curved_prior(K, MODE, 1.0)
TOGETHER = np.zeros((K, K + 1))
TOGETHER[:, :-1] = RNG.uniform(0.1, 2.0, size=(K, K)) * ~np.eye(K, dtype=bool)
PRIOR = replace(PRIOR, co_occurrence=np.append(TOGETHER.ravel(), np.zeros(len(PRIOR.group) - 12)))
P = len(PRIOR.group)
ROOT = RNG.normal(size=(P, 60))
HESSIAN = ROOT @ ROOT.T / 10.0
THETA = RNG.normal(scale=0.3, size=P)
AT = MODE[PRIOR.group] * PRIOR.relative_precisions(0.5)
WHOLE = Curvature(PRIOR, (Blocks(HESSIAN[None], np.arange(P)[None]),), THETA, AT)


def naive_evidence(precisions, power):
    """Density of the unpenalised optimum: a normal with the covariances of prior and rows."""
    weights = precisions[PRIOR.group] * PRIOR.relative_precisions(power)
    optimum = np.linalg.solve(HESSIAN, (HESSIAN + np.diag(AT)) @ THETA)
    covariance = np.linalg.inv(HESSIAN) + np.diag(1.0 / weights)
    return multivariate_normal.logpdf(optimum, np.zeros(P), covariance)


def test_evidence_is_the_density_of_what_was_seen():
    one, other = MODE, MODE * RNG.uniform(0.2, 5.0, size=6)
    for power in (0.0, 1.0):
        ours = WHOLE.log_evidence(one, 0.5) - WHOLE.log_evidence(other, power)
        ours -= PRIOR.log_hyperprior(one) - PRIOR.log_hyperprior(other)
        assert_allclose(
            ours, naive_evidence(one, 0.5) - naive_evidence(other, power), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("strength", [2.0, 0.5])
def test_the_prior_of_precisions_is_a_gamma_with_its_mode_in_the_logarithm(strength):
    precisions = MODE * np.array([0.7, 4.0, 1.0, 0.1, 2.0, 3.0])
    prior = replace(PRIOR, strength=strength)

    def density(values):
        # That of the logarithm: the density of a gamma times the value.
        return (gamma.logpdf(values, strength, scale=MODE / strength) + np.log(values)).sum()

    assert_allclose(prior.log_hyperprior(precisions), density(precisions) - density(MODE))
    assert prior.log_hyperprior(MODE) == 0.0


def test_precisions_that_are_held_stay_and_the_others_are_best_for_them():
    held = np.array([False, True, False, False, False, False])
    start = MODE * np.array([1.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    partly = replace(WHOLE, prior=replace(PRIOR, held=held))
    found = partly.best_precisions(start, 0.5, 1e-10)
    assert found[1] == start[1]
    free = WHOLE.best_precisions(start, 0.5, 1e-10)
    assert abs(np.log(free[1] / start[1])) > 0.1
    for i in np.flatnonzero(~held):
        for factor in (0.9, 1.1):
            other = found.copy()
            other[i] *= factor
            assert WHOLE.log_evidence(other, 0.5) < WHOLE.log_evidence(found, 0.5)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_the_fixed_point_has_the_largest_evidence(power):
    found = WHOLE.best_precisions(MODE, power, 1e-10)
    best = minimize(
        lambda logs: -WHOLE.log_evidence(np.exp(logs), power), np.log(MODE), method="BFGS"
    )
    assert_allclose(np.log(found), best.x, atol=1e-3)
    assert -best.fun <= WHOLE.log_evidence(found, power) + 1e-8


def test_effective_parameters_are_traces():
    weights = MODE[PRIOR.group]
    inverse = np.linalg.inv(HESSIAN + np.diag(weights))
    expected = PRIOR.sums(1.0 - weights * inverse.diagonal())
    assert_allclose(WHOLE.effective_dof(MODE, 0.0), expected, rtol=1e-9)


def test_precisions_stay_above_the_least():
    held = replace(WHOLE, least=50.0).best_precisions(MODE, 0.0, 1e-6)
    assert held.min() >= 50.0


def test_equal_classes_make_blocks_exact():
    # With p = 1/k everywhere the Hessian is (I - 1/k) / k kron T, whose parts are known.
    k, rng = 4, np.random.default_rng(0)
    features = np.column_stack([rng.normal(size=(200, k)), np.ones(200)])
    moments = features.T @ features / k
    whole = np.kron(np.eye(k) - 1.0 / k, moments)
    n, at = k * (k + 1), np.array([3.0])
    prior = GroupedGaussianPrior(Full(k, k), ("all",), np.zeros(n, dtype=int), at, np.zeros(n))
    theta, weights = np.zeros(n), np.full(n, 3.0)
    exact = Curvature(prior, (Blocks(whole[None], np.arange(n)[None]),), theta, weights)
    share = 1.0 - 1.0 / k
    blocks = np.repeat(moments[None] * share, k, axis=0) / share
    places = np.arange(n).reshape(k, k + 1)
    for some in (slice(None), slice(2)):
        part = Blocks(blocks[some], places[some], share)
        by_class = Curvature(prior, (part,), theta, weights)
        assert_allclose(
            by_class.log_determinant(at, 0.0), exact.log_determinant(at, 0.0), rtol=1e-10
        )
        assert_allclose(by_class.effective_dof(at, 0.0), exact.effective_dof(at, 0.0), rtol=1e-10)


def test_rounding_determines_no_less_than_nothing():
    """A Hessian of rounding errors, and of single precision at that, may be anything."""
    noise = -0.9 * np.diag(AT)
    curvature = replace(WHOLE, blocks=(Blocks(noise[None], np.arange(P)[None]),))
    assert_allclose(curvature.effective_dof(MODE, 0.5), 0.0)
