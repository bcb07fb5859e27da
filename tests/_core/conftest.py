"""Problems that several solvers are tried on."""

import numpy as np
import pytest


@pytest.fixture
def zeros_problem():
    """300 rows, 3 classes, a fifth of the entries exactly zero, some of them the true class."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=300)
    y = np.array([rng.choice(3, p=row) for row in proba])
    proba[rng.random(proba.shape) < 0.2] = 0.0
    proba[proba.sum(axis=1) == 0.0] = 1.0
    return proba / proba.sum(axis=1, keepdims=True), y
