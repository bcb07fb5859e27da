"""Intervals from moments hold what draws hold."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax, ndtr, ndtri, softmax

from dircal._core.stats.bins import equal_width
from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.confidence import AbsoluteSumInversion, interval_of
from dircal._core.stats.moments import (
    sum_moments,
    sums_from_moments,
)

BINS = equal_width(15, np.dtype(float))
N, N_SETS, N_RESAMPLES = 4000, 2000, 1000
# Three standard errors around 95 % of 2000 sets.
ALLOWED = (0.935, 0.965)
NAMES = ("log_loss", "brier_score", "confidence_ece")
CASES = [(3, 1.05, 1.0), (3, 1.05, 1.5), (10, 2.5, 1.0), (10, 2.5, 1.5)]


def draw(k, spread, n, rng):
    """True probabilities (k, n)."""
    return softmax(rng.normal(scale=spread, size=(n, k)), axis=1).T


def terms_of(truth, slope, rng):
    """Losses and gaps of the confidence, of predictions that are too sure by ``slope``."""
    n = truth.shape[1]
    y = (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=0)
    logs = log_softmax(slope * np.log(truth), axis=0)
    brier = ((np.exp(logs) - np.eye(len(truth))[y].T) ** 2).sum(axis=0)
    confidence, right = np.exp(logs.max(axis=0)), logs.argmax(axis=0) == y
    places = np.arange(n), BINS.index(confidence[None])[0]
    gaps = sparse.csr_array((right - confidence, places), shape=(n, BINS.n_bins))
    losses = np.stack([-logs[y, np.arange(n)], brier])
    return [RowTerms(losses), RowTerms(np.empty((0, n)), gaps)]


def true_values(k, spread, slope):
    """What the measures would be on endlessly many rows: labels replaced by their chances."""
    truth = draw(k, spread, 2_000_000 // k, np.random.default_rng([k, 1]))
    logs = log_softmax(slope * np.log(truth), axis=0)
    said = np.exp(logs)
    n = said.shape[1]
    confidence, hits = said.max(axis=0), truth[said.argmax(axis=0), np.arange(n)]
    gaps = np.bincount(BINS.index(confidence[None])[0], hits - confidence)
    return [
        -(truth * logs).sum(axis=0).mean(),
        ((said**2).sum(axis=0) - 2.0 * (truth * said).sum(axis=0) + 1.0).mean(),
        np.abs(gaps).sum() / n,
    ]


def bca(draws, mean, skewness):
    """Ends of the interval of Efron and Tibshirani (1993), chapter 14."""
    bias = ndtri(np.mean(draws < mean))
    moved = bias + ndtri([0.025, 0.975])
    return np.quantile(draws, ndtr(bias + moved / (1.0 - skewness / 6.0 * moved)))


def ends_of(moments, rng):
    sums = sums_from_moments(moments, N_RESAMPLES, rng) / moments.n_rows
    means = moments.sums / moments.n_rows
    losses = [bca(sums[:, i], means[i], moments.skewness[i]) for i in range(2)]
    errors = AbsoluteSumInversion(means[2:], sums[:, 2:] - means[2:])
    return np.array([*losses, interval_of(errors, 0.95)])


@pytest.mark.parametrize(("k", "spread", "slope"), CASES)
def test_intervals_hold_the_truth(k, spread, slope, record):
    truth = true_values(k, spread, slope)
    held = np.zeros(3)
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, k])
        terms = terms_of(draw(k, spread, N, rng), slope, rng)
        found = ends_of(sum_moments(terms), rng)
        held += (found[:, 0] <= truth) & (truth <= found[:, 1])
    coverage = held / N_SETS
    of = f"k = {k}, n = {N}, logits times {slope:g}, {N_SETS} sets"
    for name, share in zip(NAMES, coverage, strict=True):
        claim = f"95 % intervals of {name} from moments, {of}"
        record(claim, f"{share:.1%}", f"{ALLOWED[0]:.1%} to {ALLOWED[1]:.1%}")
        assert ALLOWED[0] <= share <= ALLOWED[1], name
