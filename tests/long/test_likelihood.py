"""Exact maximum likelihood, shown by its own theory, and what the learned floor is worth."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from dircal import DirichletCalibrator, MatrixScaling, TemperatureScaling, VectorScaling
from dircal.exceptions import ConvergenceWarning

TINY = np.finfo(float).tiny


def draw(rng, weights, n):
    """Rows of the simplex, and labels drawn from the linear map with these weights."""
    proba = softmax(rng.normal(scale=1.5, size=(n, len(weights))), axis=1)
    truth = softmax(np.log(proba) @ weights[:, :-1].T + weights[:, -1], axis=1)
    y = (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=1)
    return proba, truth, y


def mean_loss(proba, y):
    return -np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, None)).mean()


CASES = {
    "temperature, k = 5": (TemperatureScaling(clip=TINY), 5, 1),
    "vector, k = 4": (VectorScaling(clip=TINY), 4, 7),
    "Dirichlet, k = 2": (DirichletCalibrator(penalty="none", clip=TINY), 2, 3),
    "Dirichlet, k = 3": (DirichletCalibrator(penalty="none", clip=TINY), 3, 8),
    "matrix, k = 4": (MatrixScaling(penalty="none", clip=TINY), 4, 15),
}


@pytest.mark.parametrize("name", CASES)
def test_likelihood_ratios_have_the_mean_of_their_degrees_of_freedom(name, record):
    """Wilks: twice the gain in likelihood over the truth is chi-square with as many degrees of
    freedom as parameters. A solver that stops early gains less; a wrong gradient, anything."""
    calibrator, k, freedom = CASES[name]
    rng = np.random.default_rng(list(CASES).index(name))
    n, n_sets = 4000, 400
    weights = np.eye(k, k + 1) * 0.6
    if freedom > 1:
        weights[:, -1] = rng.normal(scale=0.3, size=k)
    if freedom == k**2 - 1:
        weights[:, :-1] += rng.normal(scale=0.1, size=(k, k))
    ratios = []
    for _ in range(n_sets):
        proba, truth, y = draw(rng, weights, n)
        fitted = calibrator.fit(proba, y)
        ratios.append(2 * n * (mean_loss(truth, y) - mean_loss(fitted.predict_proba(proba), y)))
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
