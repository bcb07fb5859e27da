"""Priors of groups: what estimates are worth, and what is exact."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.bayes.evidence import (
    Curvature,
    GroupedGaussianPrior,
    evidence_of_one_step,
    maximise_evidence,
)
from dircal._core.bayes.features import MixturePrior
from dircal._core.data.chunks import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import log_softmax
from dircal._core.optim import newton as solver
from dircal.maps import CalibrationMap, LogSoftmax

READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read


def rows_of(problem):
    return Rows(ArraySource(problem.logits, problem.y, None, READ_LOGITS))


def mixed(rows, slope):
    """Rows after the mixture with the uniform, with their whole row means."""
    mixture = MixturePrior(np.ones(3), normalised=False).around(rows, 0.0, slope).rows.transform
    return replace(rows, transform=replace(mixture, slope=slope, row_mean_factor=1.0))


def prior_of(k, slope=1.0):
    return GroupedGaussianPrior(np.array([k, k * (k - 1.0), k]), slope)


@pytest.mark.parametrize(("n", "seed"), [(300, 0), (3000, 1)])
def test_estimates_are_within_a_tenth_of_the_exact_ones(n, seed, make_problem, monkeypatch):
    rows = mixed(rows_of(make_problem(seed, n=n, k=20)), 0.5)
    exact = maximise_evidence(rows, prior_of(20), learn=True, tol=1e-10, max_iter=100)
    monkeypatch.setattr(solver, "_DIRECT_PARAMS", 1)
    at_exact = GroupedGaussianPrior(exact.precisions, 1.0)
    held = maximise_evidence(rows, at_exact, learn=False, tol=1e-10, max_iter=100)
    assert_allclose(held.effective_dof, exact.effective_dof, rtol=0.1)
    learned = maximise_evidence(rows, prior_of(20), learn=True, tol=1e-10, max_iter=100)
    assert_allclose(learned.precisions, exact.precisions, rtol=0.2)
    assert_allclose(held.log_evidence, exact.log_evidence, atol=0.01 * n)


def test_spreads_without_the_hessian_are_close(make_problem, monkeypatch):
    problem = make_problem(0, n=1000, k=20)
    rows = mixed(rows_of(problem), 0.5)
    exact = maximise_evidence(rows, prior_of(20), learn=False, tol=1e-10, max_iter=100)
    monkeypatch.setattr(solver, "_DIRECT_PARAMS", 1)
    low_rank = maximise_evidence(rows, prior_of(20), learn=False, tol=1e-10, max_iter=100)
    scores = rows.fold(lambda chunk: [chunk])[0].scores[:, :50]
    weights = exact.solution.params.reshape(20, 21)
    logits = weights[:, :-1] @ scores + weights[:, -1:]
    proba = np.exp(log_softmax(logits))
    ratio = low_rank.posterior.spread_of_log_odds(proba, scores)
    ratio /= exact.posterior.spread_of_log_odds(proba, scores)
    assert 0.9 < np.median(ratio) < 1.1


def test_equal_classes_make_blocks_exact():
    # With p = 1/k everywhere the Hessian is (I - 1/k) / k kron T, whose parts are known.
    k, rng = 4, np.random.default_rng(0)
    features = np.column_stack([rng.normal(size=(200, k)), np.ones(200)])
    moments = features.T @ features / k
    whole = np.kron(np.eye(k) - 1.0 / k, moments)
    group = np.zeros((k, k + 1), dtype=int)
    sizes = np.array([k * (k + 1.0)])
    at = np.array([3.0])
    theta = np.zeros((k, k + 1))
    exact = Curvature(whole[None], group.reshape(1, -1), theta.reshape(1, -1), at, sizes, at, 1.0)
    share = 1.0 - 1.0 / k
    blocks = np.repeat(moments[None] * share, k, axis=0) / share
    by_class = Curvature(blocks, group, theta, at, sizes, at, share)
    # Group sums are made for three groups; the other two are empty here.
    with np.errstate(invalid="ignore"):
        assert_allclose(by_class.log_determinant(at), exact.log_determinant(at), rtol=1e-10)
        assert_allclose(by_class.effective_dof(at)[0], exact.effective_dof(at)[0], rtol=1e-10)


def test_one_step_is_the_evidence_where_the_loss_is_a_parabola(make_problem):
    rows = mixed(rows_of(make_problem(0, n=30, k=3)), 0.1)
    strong = GroupedGaussianPrior(np.full(3, 1e4), 1.0)
    fit = maximise_evidence(rows, strong, learn=False, tol=1e-14, max_iter=100)
    assert_allclose(evidence_of_one_step(rows, strong), fit.log_evidence, atol=1e-6)
