"""Spreads of log-odds, against matrices written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal._core.bayes.posterior import ExactPosterior, LowRankPosterior
from dircal._core.model.curved import Curved
from dircal._core.model.statistics import N_STATISTICS, curve_statistics
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.precondition import make_preconditioner

K, M = 4, 12
RNG = np.random.default_rng(0)
PLAIN = RNG.normal(scale=2.0, size=(K, M))
STACKED = np.concatenate([PLAIN[None], curve_statistics(PLAIN)]).reshape(-1, M)


def naive(structure, scores, proba, covariance):
    """Gradient of the log-odds in the parameters, by the chain rule, around a covariance."""
    logits = [structure.logits(e, scores) for e in np.eye(structure.n_params)]
    J = np.array(logits).transpose(2, 1, 0)
    spread = np.empty((K, M))
    for m in range(M):
        for i in range(K):
            contrast = -proba[:, m] / np.delete(proba[:, m], i).sum()
            contrast[i] = 1.0
            slope = contrast @ J[m]
            spread[i, m] = np.sqrt(slope @ covariance @ slope)
    return spread


@pytest.mark.parametrize(
    ("structure", "scores"),
    [
        (Full(K, K), PLAIN),
        (Curved(Full(K, K), N_STATISTICS, 4), STACKED),
        (Curved(Full(K, K), N_STATISTICS, 0), STACKED),
    ],
    ids=["linear", "own", "shared"],
)
def test_a_whole_covariance(structure, scores):
    root = RNG.normal(size=(structure.n_params, structure.n_params))
    covariance = root @ root.T
    proba = softmax(RNG.normal(size=(K, M)), axis=0)
    posterior = ExactPosterior(covariance)
    assert posterior.n_entries == structure.n_params
    found = posterior.spread_of_log_odds(proba, scores)
    assert_allclose(found, naive(structure, scores, proba, covariance), rtol=1e-9)


@pytest.mark.parametrize("lead", [0.0, 30.0, 400.0])
@pytest.mark.parametrize("base", [Full(K, K), Diagonal(K)], ids=["full", "diagonal"])
def test_low_rank(base, lead):
    """Also of a class beside which squares of the others underflow."""
    logits = RNG.normal(size=(K, M))
    moments = base.hessian_moments(softmax(logits, axis=0), np.full(M, 1.0 / M), PLAIN)
    logits[1, ::2] += lead
    proba = softmax(logits, axis=0)
    inverse = make_preconditioner(moments, base.param_class, np.full(base.n_params, 0.1))
    dense = np.array([inverse(e) for e in np.eye(base.n_params)])
    posterior = LowRankPosterior(inverse, 50.0)
    assert posterior.n_entries == base.n_params
    expected = naive(base, PLAIN, proba, dense / 50.0)
    # Statistics below the scores are passed by.
    for scores in (PLAIN, STACKED):
        assert_allclose(posterior.spread_of_log_odds(proba, scores), expected, rtol=1e-7)
