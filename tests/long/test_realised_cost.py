"""Realised costs: correct probabilities are rarely called misleading, and intervals cover."""

import numpy as np
import pytest

from dircal.decide import CostTable, realised_cost

N_SETS, LEVEL = 2000, 0.95
# 5 % and three standard errors; the tests may reject less often.
ALLOWED = 0.05 + 3 * np.sqrt(0.05 * 0.95 / N_SETS)
FRAUD = CostTable.from_mapping(
    {"fraud": {"block": 0, "pass": 100}, "honest": {"block": 15, "pass": 0}}
)
ASK = FRAUD.with_question(2.0)
# Twelve classes whose costs have heavy tails: a log-normal distribution, from 0.2 to 900.
HEAVY = CostTable.from_matrix(
    np.stack([np.exp(np.linspace(-1.5, 6.8, 12)), np.full(12, 40.0)], axis=1),
    classes=range(12),
    actions=["wait", "act"],
)


def constant(rate):
    return lambda n, rng: np.full((n, 2), [rate, 1.0 - rate])


def imbalanced(n, rng):
    """One row of a hundred is fraud, and the probabilities differ from row to row."""
    p = rng.beta(0.2, 19.8, size=n)
    return np.stack([p, 1.0 - p], axis=1)


def heavy(n, rng):
    return rng.dirichlet(2.0 / np.arange(1, 13) ** 2, size=n)


CELLS = {
    "p = 0.01, n = 100": (constant(0.01), 100, FRAUD),
    "p = 0.003, n = 1,000": (constant(0.003), 1000, FRAUD),
    "p = 0.003, n = 10,000": (constant(0.003), 10_000, FRAUD),
    "imbalance 1:100, n = 100": (imbalanced, 100, ASK),
    "imbalance 1:100, n = 1,000": (imbalanced, 1000, ASK),
    "12 classes, heavy-tailed costs, n = 200": (heavy, 200, HEAVY),
    "12 classes, heavy-tailed costs, n = 2,000": (heavy, 2000, HEAVY),
}


def odds_times(proba, factor):
    moved = proba * np.where(np.arange(proba.shape[1]) == 0, factor, 1.0)
    return moved / moved.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_intervals_of_realised_costs(name, factor, record):
    """``factor`` multiplies the odds of the first class in the probabilities that are passed."""
    draw, n, costs = CELLS[name]
    misled = covered = gaps = 0
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, 5])
        truth = draw(n, rng)
        y = costs.classes[
            (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, truth.shape[1] - 1)
        ]
        predicted = odds_times(truth, factor)
        found = realised_cost(y, predicted, costs, classes=costs.classes)
        best = (predicted @ costs.matrix).argmin(axis=1)
        # The expected cost of these rows under the true probabilities.
        true = (truth * costs.matrix[:, best].T).sum(axis=1).mean()
        misled += found.pvalue < 1.0 - LEVEL
        covered += found.low <= true <= found.high
        gaps += found.gap_low <= found.predicted - true <= found.gap_high
    what = "correct probabilities" if factor == 1.0 else f"odds of class 1 times {factor}"
    record(
        f"probabilities reported as misleading at level 0.05, {what}, {name}, {N_SETS} sets",
        f"{misled / N_SETS:.1%}",
        f"at most {ALLOWED:.1%}" if factor == 1.0 else "reported",
    )
    record(
        f"95 % intervals of the cost and of the gap that cover, {what}, {name}",
        f"{covered / N_SETS:.1%}, {gaps / N_SETS:.1%}",
        f"at least {1.0 - ALLOWED:.1%}" if factor == 1.0 else "reported",
    )
    if factor == 1.0:
        assert misled / N_SETS <= ALLOWED
        assert min(covered, gaps) / N_SETS >= 1.0 - ALLOWED
