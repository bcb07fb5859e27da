"""Intervals from rows with random signs hold what draws hold."""

import numpy as np
from scipy.special import log_softmax, softmax

from dircal import confidence_interval

K, SPREAD, SLOPE, N, N_SETS = 20, 3.0, 1.5, 4000, 400
# Three standard errors around 95 % of 400 sets.
ALLOWED = (0.917, 0.983)


def draw(n, rng):
    """Logarithms of true probabilities (n, k)."""
    return log_softmax(rng.normal(scale=SPREAD, size=(n, K)), axis=1)


def true_error():
    """On endlessly many rows: labels replaced by their chances."""
    logs = draw(200_000, np.random.default_rng(1))
    truth, said = np.exp(logs), softmax(SLOPE * logs, axis=1)
    bins = np.ceil(said * 15).astype(int)
    gaps = [np.bincount(bins[:, j], truth[:, j] - said[:, j]) for j in range(K)]
    return np.mean([np.abs(one).sum() / len(said) for one in gaps])


def test_intervals_hold_the_truth(record, use_limits):
    truth = true_error()
    held = dict.fromkeys(("multipliers", "draws"), 0)
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, 3])
        logs = draw(N, rng)
        y = (logs + rng.gumbel(size=logs.shape)).argmax(axis=1)
        said = softmax(SLOPE * logs, axis=1)
        for source, fewest in (("multipliers", N), ("draws", N + 1)):
            use_limits("ResamplingLimits", min_moment_rows=fewest, max_moment_sums=100)
            found = confidence_interval(
                y, said, "classwise_ece", n_resamples=400, random_state=seed, classes=range(K)
            )
            assert found.source == source
            held[source] += found.low <= truth <= found.high
    of = f"k = {K}, n = {N}, logits times {SLOPE:g}, {N_SETS} sets"
    for source, count in held.items():
        allowed = "reported" if source == "draws" else f"{ALLOWED[0]:.1%} to {ALLOWED[1]:.1%}"
        claim = f"95 % intervals of classwise_ece from {source}, {of}"
        record(claim, f"{count / N_SETS:.1%}", allowed)
    assert ALLOWED[0] <= held["multipliers"] / N_SETS <= ALLOWED[1]
