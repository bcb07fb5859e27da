"""Where the optimum is at infinity the answer still depends on the rows alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal.core import (
    Diagonal,
    Full,
    Objective,
    Reader,
    Rows,
    Source,
    Status,
    log_softmax,
    minimise,
    no_penalty,
    settle,
)


def separable(seed, n=30, k=3):
    """Rows that some map puts right without error."""
    logits = np.random.default_rng(seed).normal(size=(n, k))
    return logits, logits.argmax(axis=1)


def objective_of(logits, labels, structure, weight=None):
    rows = Rows(Source(logits, labels, weight, Reader(log_softmax)))
    return Objective(rows, structure, no_penalty(logits.shape[1]))


@pytest.mark.parametrize("structure", [Full(3, 3), Full(3, 2), Diagonal(3)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_depends_on_the_rows_alone(structure, seed):
    logits, labels = separable(seed)
    start = structure.pack(np.eye(3, 4))
    objective = objective_of(logits, labels, structure)
    endless = minimise(objective, start, tol=1e-12, max_iter=100)
    assert endless.status is Status.AT_INFINITY
    once = settle(objective, start, max_iter=100)
    elsewhere = settle(objective, 0.1 * start, max_iter=100)
    order = np.random.default_rng(seed).permutation(30)
    weight = np.random.default_rng(seed).integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weight)
    shuffled = settle(objective_of(logits[order], labels[order], structure), start, max_iter=100)
    weighted = settle(
        objective_of(logits, labels, structure, weight.astype(float)), start, max_iter=100
    )
    copied = settle(objective_of(logits[copies], labels[copies], structure), start, max_iter=100)
    assert once.status is Status.AT_INFINITY
    for one, other in ((once, elsewhere), (once, shuffled), (weighted, copied)):
        assert_allclose(
            structure.logits(one.params, logits.T),
            structure.logits(other.params, logits.T),
            rtol=1e-8,
            atol=1e-8,
        )


def test_it_is_nearly_as_good_as_anything():
    logits, labels = separable(0)
    objective = objective_of(logits, labels, Full(3, 3))
    found = settle(objective, Full(3, 3).pack(np.eye(3, 4)), max_iter=100)
    assert 0.0 < found.loss < 2e-3
    loss, _ = objective.loss_and_gradient(found.params)
    assert found.loss == pytest.approx(loss)
