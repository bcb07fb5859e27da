"""Credible intervals hold the truth as often as they say."""

import numpy as np
from scipy.special import softmax

from dircal import BayesianDirichletCalibrator

N, NEW, MAPS = 2000, 1000, 40


def draw_map(k, rng):
    """W and b from the prior at the mode of its precisions."""
    W = np.eye(k) + rng.normal(size=(k, k)) / np.sqrt(k * (k - 1.0))
    W[np.diag_indices(k)] = 1.0 + rng.normal(size=k) / np.sqrt(k)
    return W, rng.normal(size=k) / np.sqrt(k)


def test_coverage_over_maps_drawn_from_the_prior(record):
    covered = []
    for k in (3, 5, 10):
        rng = np.random.default_rng(k)
        here = []
        for _ in range(MAPS):
            W, b = draw_map(k, rng)
            q = rng.dirichlet(np.ones(k), size=N + NEW)
            truth = softmax(np.log(q) @ W.T + b, axis=1)
            y = (truth.cumsum(axis=1) > rng.random((N + NEW, 1))).argmax(axis=1)
            fitted = BayesianDirichletCalibrator(classes=range(k)).fit(q[:N], y[:N])
            lower, upper = fitted.predict_interval(q[N:])
            here.append(((lower <= truth[N:]) & (truth[N:] <= upper)).mean())
        record(
            f"coverage of 95 % intervals, k = {k}, n = {N}, {MAPS} maps from the prior",
            f"{np.mean(here):.1%}",
            "reported",
        )
        covered.append(np.mean(here))
    mean = float(np.mean(covered))
    record("coverage of 95 % intervals, mean of these", f"{mean:.1%}", "92% to 97%")
    assert 0.92 < mean < 0.97
