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


# Concentrations of the probabilities, row of the change, slope and factor of the odds of class 1.
SHIFTS = {
    "k = 3, slope 1.5 from row 2,000": (np.ones(3), 2000, 1.5, 1.0),
    "k = 3, slope 1.5 from the first row": (np.ones(3), 0, 1.5, 1.0),
    "k = 10, one class times 1.5 from the first row": (np.full(10, 0.3), 0, 1.0, 1.5),
    "k = 10, one class times 1.5 from row 2,000": (np.full(10, 0.3), 2000, 1.0, 1.5),
    "k = 3, heavy tails, slope 1.3 from row 1,000": (np.full(3, 0.1), 1000, 1.3, 1.0),
    "imbalance 1:100, rare class times 2 from row 2,000": (np.array([0.05, 4.95]), 2000, 1.0, 2.0),
}
N_SHIFTED, LENGTH = 200, 8000


@pytest.mark.parametrize("name", SHIFTS)
def test_the_change_is_found(name, record):
    concentration, change, slope, factor = SHIFTS[name]
    rng = np.random.default_rng(7)
    p = rng.dirichlet(concentration, size=N_SHIFTED * LENGTH) + 1e-15
    y = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=len(concentration) - 1)
    off = p**slope * np.append(factor, np.ones(len(concentration) - 1))
    off /= off.sum(axis=1, keepdims=True)
    q = np.where((np.arange(len(p)) % LENGTH >= change)[:, None], off, p)
    monitor = CalibrationMonitor(classes=range(len(concentration)), level=LEVEL)
    monitor.update(q, y, groups=np.repeat(np.arange(N_SHIFTED), LENGTH))
    alarms = [one for one in monitor.alarms_ if one.row > change]
    error = np.mean([abs(one.began - change) for one in alarms])
    covered = np.mean([one.began_low <= change <= one.began_high for one in alarms])
    delay = np.median([one.row - change for one in alarms])
    record(
        f"mean error of the row of the change, {name}, {len(alarms)} of {N_SHIFTED} streams with "
        "an alarm",
        f"{error:.0f} rows, 95 % interval covers in {covered:.1%}, median delay {delay:.0f} rows",
        "at most half the median delay; covers in at least 80 %",
    )
    assert error <= 0.5 * delay
    assert covered >= 0.8
