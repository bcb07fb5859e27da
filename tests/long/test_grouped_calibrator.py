"""Groups that do not differ nearly share a map, and those that differ still gain."""

import numpy as np
import pytest
from scipy.special import softmax

from dircal import AutoCalibrator
from dircal.shift import GroupedCalibrator

N_SETS, N_TEST = 100, 4000
# Mean probabilities of three classes: even ones, and one row of a hundred in the rare class.
BIASES = {"even classes": [0.5, 0.0, -0.5], "imbalance 1:100": [3.2, 1.5, -1.5]}


def simulate(n_groups, n_rows, spread, bias, seed):
    """Mean distance of the maps from the common one, and excess loss of both."""
    rng = np.random.default_rng([seed, n_groups, n_rows])
    groups = np.repeat(np.arange(n_groups), n_rows)
    slopes = 0.6 * np.exp(rng.normal(scale=spread, size=n_groups))
    intercepts = rng.normal(scale=spread, size=(n_groups, 3)) + bias

    def truth_of(q, groups):
        return softmax(slopes[groups, None] * np.log(q) + intercepts[groups], axis=1)

    q = rng.dirichlet(np.ones(3), size=len(groups))
    y = (truth_of(q, groups).cumsum(axis=1) < rng.random((len(q), 1))).sum(axis=1).clip(max=2)
    fitted = GroupedCalibrator(AutoCalibrator(), classes=range(3)).fit(q, y, groups=groups)
    test, of_test = rng.dirichlet(np.ones(3), size=N_TEST), rng.integers(0, n_groups, N_TEST)
    truth = truth_of(test, of_test)
    found, common = fitted.predict_proba(test, groups=of_test), fitted.predict_proba(test)
    excess = [(truth * np.log(truth / p)).sum(axis=1).mean() for p in (found, common)]
    return np.abs(found - common).mean(), *excess


@pytest.mark.parametrize("kind", BIASES)
@pytest.mark.parametrize(("n_groups", "n_rows"), [(40, 20), (12, 60)])
@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_groups_are_pooled_unless_they_differ(n_groups, n_rows, spread, kind, record):
    runs = [simulate(n_groups, n_rows, spread, BIASES[kind], seed) for seed in range(N_SETS)]
    apart, loss, common = np.mean(runs, axis=0)
    promised = spread == 0.0
    record(
        f"mean distance from the common probabilities, {n_groups} groups of {n_rows} rows, "
        f"spread {spread}, {kind}, {N_SETS} sets",
        f"{apart:.4f} (excess log-loss {loss:.4f}, of the common map {common:.4f})",
        "at most 0.01" if promised else "reported",
    )
    if promised:
        assert apart <= 0.01
