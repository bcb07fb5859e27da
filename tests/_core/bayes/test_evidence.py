"""Priors of groups: what estimates are worth, and what is exact."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.bayes.evidence import Curvature, GroupPrior, evidence_of_one_step, fit_groups
from dircal._core.bayes.mixture import Softening, softened
from dircal._core.data.chunks import Reader, Rows, Source
from dircal._core.data.simplex import log_softmax
from dircal._core.optim import newton as solver


def rows_of(problem):
    return Rows(Source(problem.logits, problem.y, None, Reader(log_softmax)))


def prior_of(k, slope=1.0):
    return GroupPrior(np.array([k, k * (k - 1.0), k]), slope)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [300, 3000])
def test_estimates_are_within_a_tenth_of_the_exact_ones(n, seed, make_problem, monkeypatch):
    rows = softened(rows_of(make_problem(seed, n=n, k=20)), 0.0, 0.5, normalised=False)
    exact = fit_groups(rows, prior_of(20), learn=True, tol=1e-10, max_iter=100)
    monkeypatch.setattr(solver, "_DIRECT_PARAMS", 1)
    at_exact = GroupPrior(exact.precisions, 1.0)
    held = fit_groups(rows, at_exact, learn=False, tol=1e-10, max_iter=100)
    assert_allclose(held.effective, exact.effective, rtol=0.1)
    learned = fit_groups(rows, prior_of(20), learn=True, tol=1e-10, max_iter=100)
    assert_allclose(learned.precisions, exact.precisions, rtol=0.2)
    assert_allclose(held.log_evidence, exact.log_evidence, atol=0.01 * n)


def test_spreads_without_the_hessian_are_close(make_problem, monkeypatch):
    problem = make_problem(0, n=1000, k=20)
    rows = softened(rows_of(problem), 0.0, 0.5, normalised=False)
    exact = fit_groups(rows, prior_of(20), learn=False, tol=1e-10, max_iter=100)
    monkeypatch.setattr(solver, "_DIRECT_PARAMS", 1)
    sketched = fit_groups(rows, prior_of(20), learn=False, tol=1e-10, max_iter=100)
    scores = rows.source.read(problem.logits[:50])
    weights = exact.solution.params.reshape(20, 21)
    logits = weights[:, :-1] @ scores + weights[:, -1:]
    proba = np.exp(log_softmax(logits))
    ratio = sketched.posterior.spread_of_log_odds(proba, scores)
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
        assert_allclose(by_class.effective(at)[0], exact.effective(at)[0], rtol=1e-10)


def test_one_step_is_the_evidence_where_the_loss_is_a_parabola(make_problem):
    rows = softened(rows_of(make_problem(0, n=30, k=3)), 0.0, 0.1, normalised=False)
    strong = GroupPrior(np.full(3, 1e4), 1.0)
    fit = fit_groups(rows, strong, learn=False, tol=1e-14, max_iter=100)
    assert_allclose(evidence_of_one_step(rows, strong), fit.log_evidence, atol=1e-6)


def test_softening_by_hand():
    logits = np.array([[2.0], [0.5], [-1.0]])
    soften = Softening(None, -np.inf, 0.5, 0.1, normalised=True)
    odds = np.exp(0.5 * logits)
    expected = np.log(0.9 * odds / odds.sum() + 0.1 / 3)
    assert_allclose(soften(logits.copy()), expected, rtol=1e-12)
    moved = replace(soften, normalised=False)(logits.copy())
    assert_allclose(moved, expected + np.log(odds.sum()), rtol=1e-12)
    bare = replace(soften, normalised=False, uniform=1e-300)(logits.copy())
    assert_allclose(bare, 0.5 * logits, rtol=1e-12)
