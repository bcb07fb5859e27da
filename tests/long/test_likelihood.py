"""Exact maximum likelihood, shown by its own theory, and what the learned floor is worth."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from dircal import (
    DirichletCalibrator,
    GenerativeParameters,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from dircal.exceptions import ConvergenceWarning

TINY = np.finfo(float).tiny


def mean_loss(proba, y):
    return -np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, None)).mean()


def diagonal(slopes, pi):
    """Dirichlet distributions whose calibration map has these slopes and no other entries."""
    return GenerativeParameters(1.0 + np.diag(slopes), pi)


CASES = {
    "temperature, k = 5": (
        TemperatureScaling(clip=TINY),
        diagonal(np.full(5, 0.6), np.full(5, 0.2)),
        1,
    ),
    "vector, k = 4": (
        VectorScaling(clip=TINY),
        diagonal([0.6, 0.7, 0.5, 0.9], [0.2, 0.3, 0.25, 0.25]),
        7,
    ),
    "Dirichlet, k = 2": (
        DirichletCalibrator(penalty="none", clip=TINY),
        GenerativeParameters([[2.0, 1.3], [0.8, 1.9]], [0.4, 0.6]),
        3,
    ),
    "Dirichlet, k = 3": (
        DirichletCalibrator(penalty="none", clip=TINY),
        GenerativeParameters([[2, 1, 1.2], [0.7, 1.9, 1], [1, 1.4, 2.5]], [0.3, 0.4, 0.3]),
        8,
    ),
    "matrix, k = 4": (
        MatrixScaling(penalty="none", clip=TINY),
        GenerativeParameters(np.eye(4) + 0.8 + np.tri(4) / 5, np.full(4, 0.25)),
        15,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_likelihood_ratios_have_the_mean_of_their_degrees_of_freedom(name, record):
    """Wilks: twice the gain in likelihood over the truth is chi-square with as many degrees of
    freedom as parameters. A solver that stops early gains less; a wrong gradient, anything."""
    calibrator, truth, freedom = CASES[name]
    rng = np.random.default_rng(list(CASES).index(name))
    n, n_sets = 4000, 400
    ratios = []
    for _ in range(n_sets):
        q, y = truth.sample(n, rng)
        fitted = calibrator.fit(q, y)
        gain = mean_loss(truth.predict_proba(q), y) - mean_loss(fitted.predict_proba(q), y)
        ratios.append(2 * n * gain)
    # Three standard errors of the mean of a chi-square, and 2 % for n being finite.
    margin = 3 * np.sqrt(2 * freedom / n_sets) + 0.02 * freedom
    record(
        f"mean likelihood ratio, {name}, n = {n}, {n_sets} sets",
        f"{np.mean(ratios):.2f}",
        f"{freedom} ± {margin:.2f}",
    )
    assert abs(np.mean(ratios) - freedom) < margin


@pytest.mark.parametrize("votes", [10, 100])
@pytest.mark.parametrize("calibrator", [TemperatureScaling(), DirichletCalibrator()], ids=str)
def test_the_learned_floor_beats_fixed_ones_on_votes(votes, calibrator, record):
    """Shares of votes, as forests and nearest neighbours give: loss on new rows, 60 sets."""
    rng = np.random.default_rng(votes)
    k, losses = 6, {"learned": [], 1e-12: [], TINY: []}
    for _ in range(60):
        truth = rng.dirichlet(np.full(k, 0.3), size=1200)
        shares = np.array([rng.multinomial(votes, row) for row in truth]) / votes
        y = (np.log(truth.clip(1e-300)) + rng.gumbel(size=truth.shape)).argmax(axis=1)
        for clip, seen in losses.items():
            fresh = calibrator.set_params(clip=clip, classes=range(k))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fresh.fit(shares[:400], y[:400])
            seen.append(mean_loss(fresh.predict_proba(shares[400:]), y[400:]))
    means = {clip: float(np.mean(seen)) for clip, seen in losses.items()}
    record(
        f"mean loss with the learned floor, {type(calibrator).__name__}, {votes} votes",
        f"{means['learned']:.3f}",
        f"below {means[1e-12]:.3f} (1e-12) and {means[TINY]:.3f} (the paper's)",
    )
    assert means["learned"] < min(means[1e-12], means[TINY])


def test_the_learned_floor_leaves_honest_values_alone(record):
    """Labels drawn from the probabilities themselves: 200 sets, some values below 1e-9."""
    rng = np.random.default_rng(0)
    lifted, worse = 0, []
    for _ in range(200):
        proba = softmax(rng.normal(scale=6.0, size=(1000, 5)), axis=1)
        y = (np.log(proba) + rng.gumbel(size=proba.shape)).argmax(axis=1)
        learned = TemperatureScaling().fit(proba[:500], y[:500])
        paper = TemperatureScaling(clip=TINY).fit(proba[:500], y[:500])
        lifted += learned.clip_ > 1e-9
        new = [mean_loss(fit.predict_proba(proba[500:]), y[500:]) for fit in (learned, paper)]
        worse.append(new[0] - new[1])
    record("honest values: floors above 1e-9, of 200 sets", f"{lifted}", "at most 20")
    record("honest values: mean loss added on new rows", f"{np.mean(worse):.5f}", "below 0.001")
    assert lifted <= 20
    assert np.mean(worse) < 0.001
