"""The calibration test holds its level where models are calibrated, and finds a temperature."""

import numpy as np
import pytest
from scipy.special import softmax

from dircal import calibration_test

N_SETS = 2000
N_RESAMPLES = 999
LEVEL = 0.05
# Three standard errors around 5 % of 2000 sets are 3.5 % to 6.5 %; ties and 999 draws add a bit.
ALLOWED = (0.034, 0.067)
TEMPERATURE = 1.2

cells = pytest.mark.parametrize(
    ("statistic", "k", "n"),
    [
        (s, k, n)
        for s in ("confidence_ece", "classwise_ece")
        for k in (3, 10, 100)
        for n in (500, 2000)
    ],
)


def rejections(statistic, k, n, temperature, n_sets):
    """Share of sets in which the test rejects, when labels follow softmax(temperature * ln p)."""
    rejected = 0
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, k, n])
        truth = rng.dirichlet(np.full(k, 2.0 / k), n)
        cumulative = truth.cumsum(axis=1)
        y = (rng.random((n, 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
        predicted = (
            truth
            if temperature == 1.0
            else softmax(temperature * np.log(truth.clip(1e-300)), axis=1)
        )
        result = calibration_test(
            y,
            predicted,
            statistic=statistic,
            n_resamples=N_RESAMPLES,
            random_state=rng,
            classes=range(k),
        )
        rejected += result.pvalue < LEVEL
    return rejected / n_sets


@cells
def test_calibrated_models_are_rejected_one_time_in_twenty(statistic, k, n, record):
    seen = rejections(statistic, k, n, 1.0, N_SETS)
    record(
        f"5 % test of {statistic} on calibrated models, k = {k}, n = {n}, {N_SETS} sets",
        f"{seen:.1%}",
        f"{ALLOWED[0]:.1%} to {ALLOWED[1]:.1%}",
    )
    assert ALLOWED[0] <= seen <= ALLOWED[1]


@cells
def test_a_temperature_of_twelve_tenths_is_found(statistic, k, n, record):
    seen = rejections(statistic, k, n, TEMPERATURE, 200)
    record(
        f"5 % test of {statistic}, logits times {TEMPERATURE}, k = {k}, n = {n}, 200 sets",
        f"{seen:.0%}",
        "reported",
    )
    assert seen > ALLOWED[1]
