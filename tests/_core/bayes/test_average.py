"""The mean of a wide prior and a narrow one."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.bayes.average import average_by_evidence, wide_and_narrow
from dircal._core.bayes.features import MixturePrior
from dircal._core.bayes.state import EvidenceState
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Status
from dircal.maps import CalibrationMap, LogSoftmax


def around(problem):
    k = problem.proba.shape[1]
    read = CalibrationMap(k, (LogSoftmax(),)).read
    mode = np.array([k, k * (k - 1.0), k, 1.0, 8.0, 8.0 * k])
    rows = Rows(ArraySource(problem.logits, problem.y, None, read))
    prior = MixturePrior(mode, normalised=False, surprise=0.1)
    around = prior.around(rows, 0.0, 0.5)
    coupling = EvidenceState(around.rows, around.prior, 1e-7, 100).moments_of_centre.coupling
    return replace(around, prior=around.prior.with_coupling(coupling))


def fits_of(mixed):
    state = EvidenceState(mixed.rows, mixed.prior, 1e-13, 100)
    return state, wide_and_narrow(state, mixed.prior, 1e-13)


def test_each_part_is_the_optimum_of_its_equations(make_problem):
    n = 150
    mixed = around(make_problem(0, n=n, k=4))
    state, fits = fits_of(mixed)
    assert len(fits) == 2
    for fit, factor in zip(fits, (1.0, 10.0), strict=True):
        prior = mixed.prior
        relative = prior.relative_precisions(fit.power)
        theta = fit.solution.params - prior.centre
        gradient = n * state.likelihood.evaluate(fit.solution.params).gradient
        assert_allclose(gradient, -fit.precisions[prior.group] * relative * theta, atol=1e-4)
        expected = (fit.effective_dof + 4.0) / (
            prior.sums(relative * theta**2) + 4.0 / (factor * prior.mode)
        )
        assert_allclose(fit.precisions, expected, rtol=1e-3)


def test_the_mean_is_weighted_by_evidence(make_problem):
    mixed = around(make_problem(0, n=100, k=4))
    _, (wide, narrow) = fits_of(mixed)
    scores = [fit.log_evidence + fit.log_hyperprior for fit in (wide, narrow)]
    share = 1.0 / (1.0 + np.exp(scores[1] - scores[0]))
    assert 0.01 < share < 0.99
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-13, max_iter=100)
    params = [fit.solution.params for fit in (wide, narrow)]
    assert_allclose(
        mean.solution.params, share * params[0] + (1 - share) * params[1], rtol=1e-6, atol=1e-8
    )
    better = wide if share > 0.5 else narrow
    assert_allclose(mean.precisions, better.precisions)
    assert_allclose(mean.log_evidence, np.logaddexp(*scores), rtol=1e-9)
    # Moments of a mixture of two normal distributions, by sampling it.
    rng = np.random.default_rng(0)
    draws = [
        rng.multivariate_normal(fit.solution.params, fit.posterior.covariance, size=int(m))
        for fit, m in ((wide, 2e5 * share), (narrow, 2e5 * (1 - share)))
    ]
    sampled = np.cov(np.concatenate(draws).T)
    scale = np.sqrt(sampled.diagonal())
    assert np.abs((sampled - mean.posterior.covariance) / scale / scale[:, None]).max() < 0.02


@pytest.mark.parametrize("k", [3, 8])
def test_many_rows_have_one_prior_or_nearly_the_same_twice(k, make_problem):
    mixed = around(make_problem(1, n=4000, k=k))
    _, fits = fits_of(mixed)
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-10, max_iter=100)
    for fit in fits:
        assert abs(fit.solution.loss - mean.solution.loss) < 2e-3


def test_a_prior_that_is_out_of_the_question_has_no_part(make_problem, use_limits):
    use_limits("BayesLimits", max_log_evidence_gap=1.0)
    problem = make_problem(0, n=1000, k=4)
    mixed = around(replace(problem, y=(problem.y + 1) % 4))
    _, fits = fits_of(mixed)
    assert len(fits) == 1
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-13, max_iter=100)
    assert_allclose(mean.solution.params, fits[0].solution.params, rtol=1e-6)
    assert_allclose(mean.log_evidence, fits[0].log_evidence + fits[0].log_hyperprior)


def test_without_the_whole_hessian(make_problem, use_limits):
    use_limits("OptimLimits", max_direct_params=1)
    mixed = around(make_problem(0, n=150, k=6))
    _, fits = fits_of(mixed)
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-10, max_iter=100)
    scores = np.array([fit.log_evidence + fit.log_hyperprior for fit in fits])
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    params = shares @ [fit.solution.params for fit in fits]
    assert_allclose(mean.solution.params, params, atol=1e-4)
    assert mean.posterior.n_entries == 42


def test_a_part_that_did_not_converge_is_told(make_problem, monkeypatch):
    mixed = around(make_problem(0, n=150, k=4))
    finish, statuses = EvidenceState.finish, [Status.ITERATION_LIMIT, Status.CONVERGED]

    def failing(self, learned, tol):
        fit = finish(self, learned, tol)
        return replace(fit, solution=replace(fit.solution, status=statuses.pop()))

    monkeypatch.setattr(EvidenceState, "finish", failing)
    mean = average_by_evidence(mixed.rows, mixed.prior, tol=1e-10, max_iter=100)
    assert statuses == []
    assert mean.solution.status is Status.ITERATION_LIMIT
