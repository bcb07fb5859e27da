"""Calibrated streams raise false alarms no more often than the level says, at every row."""

import numpy as np
import pytest
from scipy.stats import binomtest

from dircal.shift import CalibrationMonitor

N_STREAMS, N_ROWS, LEVEL = 10_000, 5000, 0.05
# Streams that are simulated at a time, and rows of each that are handed in together.
AT_ONCE, BATCH = 500, 250


def count_alarms(k, seed):
    rng = np.random.default_rng([seed, k])
    groups = np.repeat(np.arange(AT_ONCE), BATCH)
    # Streams differ in how sure they are: from nearly uniform to nearly certain.
    sharpness = np.repeat(rng.choice([0.1, 0.5, 1.0, 3.0], size=AT_ONCE), BATCH)
    monitor = CalibrationMonitor(classes=range(k), level=LEVEL)
    for _ in range(N_ROWS // BATCH):
        p = rng.standard_gamma(sharpness[:, None], size=(len(groups), k)) + 1e-12
        p /= p.sum(axis=1, keepdims=True)
        y = (p.cumsum(axis=1) > rng.random((len(groups), 1))).argmax(axis=1)
        monitor.update(p, y, groups=groups)
    return len(monitor.alarms_)


@pytest.mark.parametrize("k", [3, 10])
def test_false_alarms_are_rare(k, record):
    found = sum(count_alarms(k, seed) for seed in range(N_STREAMS // AT_ONCE))
    interval = binomtest(found, N_STREAMS).proportion_ci(0.95)
    claim = f"false alarms at level 0.05, k = {k}, {N_STREAMS:,} streams of {N_ROWS:,} rows"
    seen = f"{found / N_STREAMS:.2%} (95 % interval {interval.low:.2%} to {interval.high:.2%})"
    record(claim, seen, "at most 5%")
    assert found <= LEVEL * N_STREAMS
