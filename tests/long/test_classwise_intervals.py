"""Intervals of the classwise error with few rows per class."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from dircal import calibration_test, confidence_interval
from dircal.exceptions import SmallSampleWarning

N_SETS, N_RESAMPLES = 200, 400
# 2.5 % and three standard errors of 200 sets.
ALLOWED = 0.058


def dirichlet(concentration):
    return lambda n, rng: rng.dirichlet(concentration, size=n)


def heavy(n, rng):
    """Log-probabilities with the tails of Student's distribution of two degrees of freedom."""
    return softmax(3.0 * rng.standard_t(2, size=(n, 10)), axis=1)


def normal(k, spread):
    return lambda n, rng: softmax(rng.normal(scale=spread, size=(n, k)), axis=1)


CALIBRATED = {
    "k = 10, confident, n = 200": (dirichlet(np.full(10, 0.03)), 200),
    "k = 10, confident, n = 500": (dirichlet(np.full(10, 0.03)), 500),
    "k = 10, heavy tails, n = 200": (heavy, 200),
    "imbalance 1:100, n = 300": (dirichlet([0.05, 4.95]), 300),
}
OVERCONFIDENT = {
    "k = 3, 20 rows per class": (normal(3, 1.05), 60),
    "k = 3, 100 rows per class": (normal(3, 1.05), 300),
    "k = 10, 20 rows per class": (normal(10, 2.5), 200),
    "k = 10, 50 rows per class": (normal(10, 2.5), 500),
    "k = 10, 100 rows per class": (normal(10, 2.5), 1000),
    "k = 10, confident, 100 rows per class": (normal(10, 10.5), 1000),
    "k = 10, confident, 300 rows per class": (normal(10, 10.5), 3000),
}


def interval_of(y, p, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)
        return confidence_interval(
            y,
            p,
            "classwise_ece",
            random_state=seed,
            n_resamples=N_RESAMPLES,
            classes=range(p.shape[1]),
        )


def labels_of(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


@pytest.mark.parametrize("name", CALIBRATED)
def test_intervals_of_calibrated_models_contain_zero(name, record):
    draw, n = CALIBRATED[name]
    excluded = disagree = 0
    corrected = []
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, 8])
        p = draw(n, rng)
        y = labels_of(p, rng)
        found = interval_of(y, p, seed)
        test = calibration_test(
            y,
            p,
            statistic="classwise_ece",
            random_state=seed,
            n_resamples=N_RESAMPLES,
            classes=range(p.shape[1]),
        )
        excluded += found.low > 0.0
        disagree += found.low > 0.0 and test.pvalue >= 0.05
        corrected.append(found.corrected)
    record(
        f"95 % intervals of classwise_ece that exclude 0, calibrated, {name}, {N_SETS} sets",
        f"{excluded / N_SETS:.1%} (mean without bias {np.mean(corrected):.4f})",
        f"at most {ALLOWED:.1%}",
    )
    record(f"the same, and the test does not reject, {name}", f"{disagree}", "0")
    assert excluded / N_SETS <= ALLOWED
    assert disagree == 0


def gap(predicted, truth):
    bins = np.ceil(predicted * 15).astype(int)
    return np.abs(np.bincount(bins, truth - predicted)).sum() / len(predicted)


@pytest.mark.parametrize("name", OVERCONFIDENT)
def test_intervals_of_overconfident_models_cover(name, record):
    draw, n = OVERCONFIDENT[name]

    def sharpen(p):
        return softmax(1.5 * np.log(p + 1e-300), axis=1)

    many = draw(200_000, np.random.default_rng(9))
    pairs = zip(sharpen(many).T, many.T, strict=True)
    truth = np.mean([gap(predicted, p) for predicted, p in pairs])
    covered = 0
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, 9])
        p = draw(n, rng)
        found = interval_of(labels_of(p, rng), sharpen(p), seed)
        covered += found.low <= truth <= found.high
    # Confident models have few rows in most bins: they need more.
    promised = "100 rows" in name and "confident" not in name
    record(
        f"95 % intervals of classwise_ece that cover {truth:.4f}, logits times 1.5, {name}, "
        f"{N_SETS} sets",
        f"{covered / N_SETS:.1%}",
        "at least 88.0%" if promised else "reported",
    )
    if promised:
        assert covered / N_SETS >= 0.88
