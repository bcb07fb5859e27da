"""Where the optimum is at infinity the answer still depends on the rows alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import no_penalty
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.recession import SeparationTest
from dircal._core.optim.separation import solve
from dircal.maps import CalibrationMap, LogSoftmax

READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read
READ_RAW = CalibrationMap(2, ()).read


def separable(seed, n=30, k=3):
    """Rows that some map puts right without error."""
    logits = np.random.default_rng(seed).normal(size=(n, k))
    return logits, logits.argmax(axis=1)


def objective_of(logits, labels, structure, weight=None):
    rows = Rows(ArraySource(logits, labels, weight, READ_LOGITS))
    return Objective(Likelihood(rows, structure), no_penalty(logits.shape[1]))


def answer(objective, start):
    return solve(objective, start, every_row_right=False, tol=1e-12, max_iter=100)


@pytest.mark.parametrize("structure", [Full(3, 3), Full(3, 2), Diagonal(3)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_depends_on_the_rows_alone(structure, seed):
    logits, labels = separable(seed)
    start = structure.pack(np.eye(3, 4))
    objective = objective_of(logits, labels, structure)
    test = SeparationTest(objective)
    endless = minimise(objective, start, tol=1e-12, max_iter=100, separation=test)
    assert endless.status is Status.SEPARATED
    once = answer(objective, start)
    elsewhere = answer(objective, 0.1 * start)
    order = np.random.default_rng(seed).permutation(30)
    weight = np.random.default_rng(seed).integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weight)
    shuffled = answer(objective_of(logits[order], labels[order], structure), start)
    weighted = answer(objective_of(logits, labels, structure, weight.astype(float)), start)
    copied = answer(objective_of(logits[copies], labels[copies], structure), start)
    assert once.status is Status.SEPARATED
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
    found = answer(objective, Full(3, 3).pack(np.eye(3, 4)))
    assert 0.0 < found.loss < 1e-3
    assert found.loss == pytest.approx(objective.evaluate(found.params).loss)


def test_an_offset_common_to_all_scores_does_not_count():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    logits = 1e-2 * (rng.normal(size=(60, 4)) + 5.0 * np.eye(4)[labels])
    structure = Full(4, 4)
    for offset in (0.0, 3.0):
        rows = Rows(ArraySource(logits + offset, labels, None, READ_RAW))
        found = answer(
            Objective(Likelihood(rows, structure), no_penalty(4)), structure.pack(np.eye(4, 5))
        )
        assert found.loss < 1e-3


@pytest.mark.parametrize("structure", [Full(4, 4), Full(4, 3), Diagonal(4)], ids=repr)
def test_a_class_without_rows_is_seen_at_once(structure, monkeypatch):
    """No search is needed to know that the lower its intercept is, the better."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 4))
    labels = rng.choice([0, 1, 3], size=200)
    objective = objective_of(logits, labels, structure)
    start = structure.pack(np.eye(4, 5))
    test = SeparationTest(objective)
    searched = minimise(objective, start, tol=1e-12, max_iter=100, separation=test)
    assert searched.status is Status.SEPARATED
    # Whoever asks for a search now fails.
    monkeypatch.setattr("dircal._core.optim.separation.SeparationTest", None)
    found = answer(objective, start)
    assert found.status is Status.SEPARATED
    intercepts = structure.unpack(found.params)[:, -1]
    assert intercepts.argmin() == 2
