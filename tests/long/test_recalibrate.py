"""Loss and gain of `recalibrate` with few labels."""

import numpy as np
import pytest
from scipy.special import softmax

from dircal import GenerativeParameters, VectorScaling
from dircal.metrics import log_loss
from dircal.shift import recalibrate

N_SETS = 150
ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)
HARDER = np.ones((3, 3)) + 0.7 * np.eye(3)


def sample(frequencies, alpha=ALPHA):
    return GenerativeParameters(alpha, frequencies).sample


def heavy_tails(frequencies):
    def draw(n, seed):
        rng = np.random.default_rng(seed)
        y = rng.choice(3, n, p=frequencies)
        # Student's t with two degrees of freedom has no variance.
        return softmax(rng.standard_t(2.0, (n, 3)) + 1.5 * np.eye(3)[y], axis=1), y

    return draw


# Rows of the fit and new rows.
CASES = {
    "no shift, three classes": (sample([0.4, 0.4, 0.2]), sample([0.4, 0.4, 0.2])),
    "no shift, heavy tails": (heavy_tails([0.4, 0.4, 0.2]), heavy_tails([0.4, 0.4, 0.2])),
    "no shift, imbalance 1:100": (sample([0.6, 0.39, 0.01]), sample([0.6, 0.39, 0.01])),
    "other frequencies": (sample([0.4, 0.4, 0.2]), sample([0.25, 0.45, 0.3])),
    "harder rows and other frequencies": (
        sample([0.4, 0.4, 0.2]),
        sample([0.1, 0.2, 0.7], HARDER),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [10, 20, 40, 100])
def test_change_of_log_loss(case, n, record):
    draw_old, draw_new = CASES[case]
    old = VectorScaling().fit(*draw_old(3000, 0))
    X, y = draw_new(4000, 99)
    start = log_loss(y, old.predict_proba(X), classes=range(3))
    change = np.empty(N_SETS)
    for seed in range(N_SETS):
        moved = recalibrate(old, *draw_new(n, 1000 + seed))
        change[seed] = log_loss(y, moved.predict_proba(X), classes=range(3)) - start
    unchanged = case.startswith("no shift")
    record(
        f"change of log-loss, {case}, {n} labels, {N_SETS} sets",
        f"mean {change.mean():+.3f}, 99 % quantile {np.quantile(change, 0.99):+.3f}",
        "mean at most 0.01, quantile at most 0.1" if unchanged else "reported",
    )
    if unchanged:
        assert change.mean() < 0.01
        assert np.quantile(change, 0.99) < 0.1
