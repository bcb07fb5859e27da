"""Intervals, p-values and warnings of `PriorShift`, with the uncertainty of the fit."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from dircal import (
    AutoCalibrator,
    DirichletCalibrator,
    GenerativeParameters,
    TemperatureScaling,
    VectorScaling,
)
from dircal.shift import PriorShift

N_SETS = 300
# An average of five maps takes ten times as long to fit.
N_SETS_OF_AVERAGES = 100
SHARPNESS = 1.6
ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)
WORLDS = {
    "three classes": (ALPHA, [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
    "balanced to rare": ([[3.0, 1.0], [1.0, 3.0]], [0.5, 0.5], [0.95, 0.05]),
    # One row in a hundred is of the last class.
    "imbalance 1:100": (ALPHA, [0.6, 0.39, 0.01], [0.3, 0.6, 0.1]),
}
CALIBRATORS = {
    "VectorScaling": VectorScaling(),
    "TemperatureScaling": TemperatureScaling(),
    "DirichletCalibrator": DirichletCalibrator(),
    "AutoCalibrator": AutoCalibrator(),
}
SIZES = [(300, 1000), (300, 5000), (3000, 1000), (3000, 5000)]


def draw(world, frequencies, n, seed):
    """Scores of an overconfident classifier, and labels."""
    if world == "heavy tails":
        rng = np.random.default_rng(seed)
        y = rng.choice(3, n, p=frequencies)
        # Student's t with two degrees of freedom has no variance.
        return softmax(rng.standard_t(2.0, (n, 3)) + 1.5 * np.eye(3)[y], axis=1), y
    q, y = GenerativeParameters(WORLDS[world][0], frequencies).sample(n, seed)
    return softmax(SHARPNESS * np.log(q), axis=1), y


def frequencies_of(world):
    return WORLDS.get(world, WORLDS["three classes"])[1:]


def adapt(calibrator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PriorShift(calibrator).adapt(X).shift_


def fit(name, X, y, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CALIBRATORS[name].set_params(classes=range(k)).fit(X, y)


CASES = [
    *(
        (world, name, *sizes)
        for world in list(WORLDS)[:2]
        for name in CALIBRATORS
        for sizes in SIZES
    ),
    *(("heavy tails", name, *sizes) for name in CALIBRATORS for sizes in (SIZES[0], SIZES[3])),
    *(("imbalance 1:100", name, 3000, 5000) for name in CALIBRATORS),
    ("imbalance 1:100", "VectorScaling", 300, 5000),
]


@pytest.mark.parametrize(("world", "name", "n_old", "n_new"), CASES)
def test_intervals_and_sizes(world, name, n_old, n_new, record):
    old, new = frequencies_of(world)
    n_sets = N_SETS_OF_AVERAGES if name == "AutoCalibrator" else N_SETS
    covered, shifted, broken, same_broken = [], [], [], []
    for seed in range(n_sets):
        fitted = fit(name, *draw(world, old, n_old, seed), len(old))
        found = adapt(fitted, draw(world, new, n_new, 10_000 + seed)[0])
        covered.append((found.low <= new) & (new <= found.high))
        broken.append(found.assumption_pvalue < 0.01)
        same = adapt(fitted, draw(world, old, n_new, 20_000 + seed)[0])
        shifted.append(same.pvalue < 0.05)
        same_broken.append(same.assumption_pvalue < 0.01)
    place = f"{world}, {name}, {n_old} old and {n_new} new rows, {n_sets} sets"
    few = n_old * min(old) < 20
    coverage = np.mean(covered, axis=0)
    each = ", ".join(f"{one:.1%}" for one in coverage)
    allowed = "reported, with a warning" if few else "93% to 97%, less 3 standard errors"
    record(f"95 % intervals, {place}", f"{coverage.mean():.1%} (classes {each})", allowed)
    limit = 0.06 + 3.0 * np.sqrt(0.06 * 0.94 / n_sets)
    record(
        f"5 % test of no shift, {place}",
        f"{np.mean(shifted):.1%}",
        "reported, with a warning" if few else f"at most 6% plus 3 standard errors, {limit:.1%}",
    )
    record(
        f"warnings at 1 % under label shift and none, {place}",
        f"{np.mean(broken):.1%}, {np.mean(same_broken):.1%}",
        "reported",
    )
    if not few:
        error = 3.0 * np.sqrt(0.05 * 0.95 / n_sets)
        assert 0.93 - error < coverage.mean() < 0.97 + error
        assert np.mean(shifted) < limit


def tilted(world, old, n, seed):
    """Rows that are drawn by their scores."""
    X, _ = draw(world, old, 4 * n, seed)
    log_X = np.log(np.maximum(X, 1e-300))
    weight = np.exp(np.minimum((log_X[:, 0] - log_X[:, 1]) * 1.5 / SHARPNESS, np.log(50.0)))
    return X[np.random.default_rng(seed).choice(len(X), n, p=weight / weight.sum())]


def with_offset(world, old, n, seed):
    """Rows of a sensor that adds 0.8 to the log-odds of the first class."""
    X = draw(world, old, n, seed)[0] * np.exp(np.append(0.8, np.zeros(len(old) - 1)))
    return X / X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("world", ["three classes", "balanced to rare", "heavy tails"])
@pytest.mark.parametrize(("n_old", "n_new"), SIZES)
def test_power_against_other_shifts(world, n_old, n_new, record):
    old, _ = frequencies_of(world)
    n_sets, found = 100, []
    for seed in range(n_sets):
        fitted = fit("VectorScaling", *draw(world, old, n_old, seed), len(old))
        rows = [change(world, old, n_new, 30_000 + seed) for change in (tilted, with_offset)]
        found.append([adapt(fitted, each).assumption_pvalue < 0.01 for each in rows])
    tilt, offset = np.mean(found, axis=0)
    record(
        f"warnings, {world}, VectorScaling, {n_old} old and {n_new} new rows, {n_sets} sets",
        f"covariate tilt {tilt:.0%}, sensor offset {offset:.0%}",
        "reported",
    )
