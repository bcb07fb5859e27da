"""Credible intervals hold the truth as often as they say."""

import numpy as np
import pytest
from scipy.special import softmax

from dircal import BayesianDirichletCalibrator
from dircal._core.model.statistics import curve_statistics

N, NEW, MAPS = 2000, 1000, 40


def draw_truth(q, rng, curved):
    """Probabilities by a map from the prior, at the mode of its precisions."""
    k, s = q.shape[1], np.log(q)
    V = np.eye(k) + rng.normal(size=(k, k)) / np.sqrt(k * (k - 1.0))
    V[np.diag_indices(k)] = 1.0 + rng.normal(size=k) / np.sqrt(k)
    b = rng.normal(size=k) / np.sqrt(k)
    means = s.mean(axis=1, keepdims=True)
    level = min(1.0, np.sqrt(s.var(axis=1).mean() / (means**2).mean()))
    logits = (s - (1.0 - level) * means) @ V.T + b
    if not curved:
        return softmax(logits, axis=1)
    statistics = curve_statistics(s.T)
    shared = rng.normal(size=10) / np.sqrt([1.0] * 2 + [8.0] * 8)
    own = rng.normal(size=(k, 4)) / np.sqrt(8.0 * k)
    logits += np.einsum("c,cin->ni", shared, statistics)
    return softmax(logits + np.einsum("ic,cin->ni", own, statistics[-4:]), axis=1)


# Such maps may well take classes for each other.
@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
@pytest.mark.parametrize("curved", [False, True], ids=["linear", "curved"])
def test_coverage_over_maps_drawn_from_the_prior(curved, record):
    kind, covered = "curved" if curved else "linear", []
    for k in (3, 5, 10):
        rng = np.random.default_rng(k)
        here = []
        for _ in range(MAPS):
            q = rng.dirichlet(np.ones(k), size=N + NEW)
            truth = draw_truth(q, rng, curved)
            y = (truth.cumsum(axis=1) > rng.random((N + NEW, 1))).argmax(axis=1)
            fitted = BayesianDirichletCalibrator(classes=range(k)).fit(q[:N], y[:N])
            lower, upper = fitted.predict_interval(q[N:])
            here.append(((lower <= truth[N:]) & (truth[N:] <= upper)).mean())
        record(
            f"coverage of 95 % intervals, k = {k}, n = {N}, {MAPS} {kind} maps from the prior",
            f"{np.mean(here):.1%}",
            "reported",
        )
        covered.append(np.mean(here))
    mean = float(np.mean(covered))
    record(f"coverage of 95 % intervals, mean of these, {kind}", f"{mean:.1%}", "92% to 97%")
    assert 0.92 < mean < 0.97


def draw_scores(kind, k, n, rng):
    if kind == "heavy tails":
        return softmax(2.0 * rng.standard_t(2, size=(n, k)), axis=1)
    bias = np.zeros(k)
    if kind == "imbalance 1:100":
        # About one row of a hundred has the last class.
        bias[-1] = -4.5
    return softmax(rng.normal(size=(n, k)) + bias, axis=1)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.ColumnOrderWarning")
@pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "imbalance 1:100"])
@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("rows_per_param", [1, 5, 10])
def test_coverage_by_rows_per_parameter(k, rows_per_param, kind, record):
    n, n_maps = rows_per_param * k * (k + 1), 40
    covered = []
    for seed in range(n_maps):
        rng = np.random.default_rng([seed, k, rows_per_param])
        q = draw_scores(kind, k, n + NEW, rng).clip(1e-12)
        q /= q.sum(axis=1, keepdims=True)
        truth = draw_truth(q, rng, curved=False)
        y = (truth.cumsum(axis=1) < rng.random((n + NEW, 1))).sum(axis=1).clip(max=k - 1)
        fitted = BayesianDirichletCalibrator(classes=range(k)).fit(q[:n], y[:n])
        lower, upper = fitted.predict_interval(q[n:])
        covered.append(((lower <= truth[n:]) & (truth[n:] <= upper)).mean())
    mean, promised = float(np.mean(covered)), rows_per_param >= 5 and kind == "normal"
    record(
        f"coverage of 95 % intervals, {rows_per_param} rows per parameter, k = {k}, n = {n}, "
        f"{kind}, {n_maps} linear maps from the prior",
        f"{mean:.1%}",
        "at least 88%" if promised else "reported",
    )
    if promised:
        assert mean >= 0.88
