"""The score test keeps its size where a chi-square would not, and finds a temperature."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax

from dircal import score_test

N, N_SETS = 1000, 2000
# With 199 draws the test of 5 % is exact: 10 of 200 ranks reject.
N_RESAMPLES = 199
ALLOWED = (0.034, 0.067)


def run(k, slope, n_sets):
    """Share of sets in which the test rejects, in which a chi-square would, and with names."""
    rejected = chi_square = named = 0
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, k])
        truth = rng.dirichlet(np.full(k, 2.0 / k), N)
        cumulative = truth.cumsum(axis=1)
        y = (rng.random((N, 1)) * cumulative[:, -1:] > cumulative).sum(axis=1)
        said = truth if slope == 1.0 else softmax(slope * np.log(truth.clip(1e-300)), axis=1)
        found = score_test(y, said, n_resamples=N_RESAMPLES, random_state=rng, classes=range(k))
        rejected += found.pvalue <= 0.05
        chi_square += stats.chi2.sf(found.statistic, found.freedom) < 0.05
        named += bool(found.classes or found.pairs)
    return rejected / n_sets, chi_square / n_sets, named / n_sets


@pytest.mark.parametrize("k", [3, 10, 30, 40])
def test_calibrated_models_are_rejected_one_time_in_twenty(k, record):
    seen, chi_square, named = run(k, 1.0, N_SETS)
    claim = f"calibrated models, k = {k}, n = {N}, {N_SETS} sets"
    record(f"5 % score test, {claim}", f"{seen:.1%}", f"{ALLOWED[0]:.1%} to {ALLOWED[1]:.1%}")
    record(f"the same with the chi-square, {claim}", f"{chi_square:.1%}", "reported")
    record(f"classes or pairs named by the score test, {claim}", f"{named:.1%}", "at most 6.7%")
    assert ALLOWED[0] <= seen <= ALLOWED[1]
    assert named <= ALLOWED[1]


@pytest.mark.parametrize("k", [3, 10, 30, 40])
def test_a_temperature_of_fourteen_tenths_is_found(k, record):
    seen, _, named = run(k, 1.4, 200)
    claim = f"logits times 1.4, k = {k}, n = {N}, 200 sets"
    record(f"5 % score test, {claim}", f"{seen:.0%}", "reported")
    record(f"classes or pairs named by the score test, {claim}", f"{named:.0%}", "reported")
    assert seen > ALLOWED[1]
