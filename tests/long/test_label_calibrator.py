"""How often `LabelCalibrator` finds that rows without labels are of another kind."""

import numpy as np
import pytest
from scipy.special import softmax

from dircal.llm._prompts import Prompts, other_rows

N_SETS = 1000
# What the prompt prefers, and what another prompt does.
BIAS, OTHER_BIAS = np.array([3.0, 0.0, 0.0, -1.0]), np.array([2.0, 0.0, 1.0, -1.0])
WORLDS = {
    "four options": (False, None),
    "heavy tails": (True, None),
    "imbalance 1:100": (False, [0.97, 0.01, 0.01, 0.01]),
}


def draw(world, n, bias, rng):
    heavy, frequencies = WORLDS[world]
    y = rng.choice(4, n, p=frequencies)
    # Student's t with two degrees of freedom has no variance.
    noise = rng.standard_t(2.0, (n, 4)) if heavy else rng.normal(size=(n, 4))
    return softmax(2.5 * (noise + 1.5 * np.eye(4)[y]) + bias, axis=1)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [25, 50, 200])
def test_rows_of_another_kind(world, n, record):
    rng = np.random.default_rng(n)
    same, other = [
        np.mean(
            [
                other_rows(draw(world, n, BIAS, rng), draw(world, 1000, bias, rng), Prompts()).any()
                for _ in range(N_SETS)
            ]
        )
        for bias in (BIAS, OTHER_BIAS)
    ]
    record(
        f"warnings at 1 %, {world}, {n} labelled and 1000 unlabelled rows, {N_SETS} sets",
        f"same prompt {same:.1%}, another prompt {other:.0%}",
        "same prompt at most 2.5%",
    )
    assert same <= 0.025
