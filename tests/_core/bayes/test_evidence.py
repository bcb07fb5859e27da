"""Precisions of groups: what estimates are worth, and what is exact."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.bayes import prior as prior_module
from dircal._core.bayes.evidence import (
    evidence_of_one_step,
    fit_as_expected,
    maximise_evidence,
)
from dircal._core.bayes.features import MixturePrior
from dircal._core.bayes.prior import full_prior
from dircal._core.bayes.state import EvidenceState
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import log_softmax
from dircal._core.model.objective import Likelihood
from dircal.maps import CalibrationMap, LogSoftmax

READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read
LIMITS = {"tol": 1e-10, "max_iter": 100}


def rows_of(problem):
    return Rows(ArraySource(problem.logits, problem.y, None, READ_LOGITS))


def mixed(rows, slope):
    """Rows after the mixture with the uniform, with their whole row means."""
    mixture = MixturePrior(np.ones(3), normalised=False).around(rows, 0.0, slope).rows.transform
    return replace(rows, transform=replace(mixture, slope=slope, row_mean_factor=1.0))


def prior_of(k):
    return full_prior(k, np.array([k, k * (k - 1.0), k]), 1.0)


def curved(problem):
    """Rows and prior of a map with curves, and pairs of classes that compete more than others."""
    k = problem.proba.shape[1]
    mode = np.array([k, k * (k - 1.0), k, 1.0, 8.0, 8.0 * k])
    around = MixturePrior(mode, normalised=False, surprise=0.1).around(rows_of(problem), 0.0, 0.5)
    coupling = EvidenceState(around.rows, around.prior, 1e-7, 100).moments_of_centre.coupling
    return replace(around, prior=around.prior.with_coupling(coupling))


@pytest.mark.parametrize(("n", "seed"), [(300, 0), (3000, 1)])
def test_estimates_are_within_a_tenth_of_the_exact_ones(n, seed, make_problem, use_limits):
    rows = mixed(rows_of(make_problem(seed, n=n, k=20)), 0.5)
    exact = maximise_evidence(rows, prior_of(20), **LIMITS)
    use_limits("OptimLimits", max_direct_params=1)
    held = fit_as_expected(rows, replace(prior_of(20), mode=exact.precisions), **LIMITS)
    assert_allclose(held.effective_dof, exact.effective_dof, rtol=0.1)
    learned = maximise_evidence(rows, prior_of(20), **LIMITS)
    assert_allclose(learned.precisions, exact.precisions, rtol=0.2)
    assert_allclose(held.log_evidence, exact.log_evidence, atol=0.01 * n)


def test_spreads_without_the_hessian_are_close(make_problem, use_limits):
    problem = make_problem(0, n=1000, k=20)
    rows = mixed(rows_of(problem), 0.5)
    exact = fit_as_expected(rows, prior_of(20), **LIMITS)
    use_limits("OptimLimits", max_direct_params=1)
    low_rank = fit_as_expected(rows, prior_of(20), **LIMITS)
    scores = rows.fold(lambda chunk: [chunk])[0].scores[:, :50]
    weights = exact.solution.params.reshape(20, 21)
    logits = weights[:, :-1] @ scores + weights[:, -1:]
    proba = np.exp(log_softmax(logits))
    ratio = low_rank.posterior.spread_of_log_odds(proba, scores)
    ratio /= exact.posterior.spread_of_log_odds(proba, scores)
    assert 0.9 < np.median(ratio) < 1.1


def test_one_step_is_the_evidence_where_the_loss_is_a_parabola(make_problem):
    rows = mixed(rows_of(make_problem(0, n=30, k=3)), 0.1)
    strong = replace(prior_of(3), mode=np.full(3, 1e4))
    fit = fit_as_expected(rows, strong, tol=1e-14, max_iter=100)
    at = Likelihood(rows, strong.structure).evaluate_with_hessian(strong.centre)
    assert_allclose(evidence_of_one_step(rows, strong, at), fit.log_evidence, atol=1e-6)


def test_curves_without_the_whole_hessian_are_close(make_problem, monkeypatch, use_limits):
    # The coefficients that classes share are few, and have a block of their own.
    monkeypatch.setattr(prior_module, "forms_hessian", lambda n_params: False)
    around = curved(make_problem(0, n=1000, k=12))
    assert around.prior.structure.n_own == 0
    exact = maximise_evidence(around.rows, around.prior, **LIMITS)
    use_limits("OptimLimits", max_direct_params=1)
    estimated = maximise_evidence(around.rows, around.prior, **LIMITS)
    assert_allclose(np.log(estimated.precisions), np.log(exact.precisions), atol=0.4)
    assert_allclose(estimated.effective_dof, exact.effective_dof, rtol=0.3, atol=1.5)
    assert abs(estimated.solution.loss - exact.solution.loss) < 0.01


def test_precisions_satisfy_their_equation(make_problem):
    around = curved(make_problem(0, n=500, k=4))
    fit = maximise_evidence(around.rows, around.prior, tol=1e-13, max_iter=100)
    prior = around.prior
    theta = fit.solution.params - prior.centre
    squares = prior.sums(prior.relative_precisions(fit.power) * theta**2)
    expected = (fit.effective_dof + 4.0) / (squares + 4.0 / prior.mode)
    assert_allclose(fit.precisions, expected, rtol=1e-3)
    assert (fit.effective_dof > 0.0).all()
    assert (fit.effective_dof < [4, 12, 4, 2, 8, 16]).all()


def test_the_fit_is_the_optimum_and_its_evidence_is_as_defined(make_problem):
    around = curved(make_problem(2, n=200, k=3))
    fit = maximise_evidence(around.rows, around.prior, tol=1e-14, max_iter=100)
    state = EvidenceState(around.rows, around.prior, 1e-14, 100)
    weights = fit.precisions[around.prior.group] * around.prior.relative_precisions(fit.power)
    at = state.likelihood.evaluate_with_hessian(fit.solution.params)
    theta = fit.solution.params - around.prior.centre
    assert_allclose(200 * at.gradient, -weights * theta, atol=1e-4)
    # Laplace's approximation, written out.
    system = 200 * at.hessian + np.diag(weights)
    evidence = -200 * at.loss - 0.5 * weights @ theta**2
    evidence += 0.5 * (np.log(weights).sum() - np.linalg.slogdet(system)[1])
    assert_allclose(fit.log_evidence, evidence, rtol=1e-6)
    assert_allclose(fit.posterior.covariance, np.linalg.inv(system), rtol=1e-4, atol=1e-7)
