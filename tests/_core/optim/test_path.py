"""Optima along a grid of strengths are those that each strength has by itself."""

from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import l2, no_penalty, off_diagonal
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.path import order_of_path, solve_path
from dircal._core.optim.separation import solve
from dircal.maps import CalibrationMap, LogSoftmax

READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read


def rows_of(seed, n, k, flip=0.3):
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, k))
    labels = np.where(rng.random(n) < flip, rng.integers(0, k, n), logits.argmax(axis=1))
    return Rows(ArraySource(logits, labels, None, READ_LOGITS))


GRIDS = {
    "l2": (Full(4, 4), [l2(4, lam) for lam in 10.0 ** np.arange(3, -8, -1.0)]),
    "reference": (Full(4, 3), [l2(4, lam) for lam in 10.0 ** np.arange(3, -8, -1.0)]),
    "odir": (
        Full(4, 4),
        [off_diagonal(4, 10.0**e, 10.0**f) for e in range(-3, 4) for f in (-3, 3)],
    ),
    "diagonal": (Diagonal(4), [l2(4, lam) for lam in (10.0, 0.1, 1e-3)]),
    "many": (Full(30, 30), [off_diagonal(30, lam, 1.0) for lam in (1e4, 1e2, 1.0)]),
}


@pytest.mark.parametrize(("structure", "penalties"), GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("forwards", [True, False])
def test_every_optimum_is_reached(structure, penalties, forwards):
    k = structure.n_classes
    rows = rows_of(0, 400, k)
    start = structure.pack(np.eye(k, k + 1))
    penalties = penalties if forwards else penalties[::-1]
    found = solve_path(
        Likelihood(rows, structure),
        penalties,
        start,
        every_row_right=False,
        tol=1e-10,
        max_iter=100,
    )
    for solution, penalty in zip(found, penalties, strict=True):
        objective = Objective(Likelihood(rows, structure), penalty)
        alone = minimise(objective, start, tol=1e-12, max_iter=100)
        loss = objective.evaluate(solution.params).loss
        assert solution.status is Status.CONVERGED
        assert loss == pytest.approx(alone.loss, abs=2e-10)
        assert solution.loss == pytest.approx(loss, abs=2e-10)


class CountedRows(Rows):
    """Counts passes over the rows, by what they do."""

    passes: ClassVar[Counter] = Counter()

    def fold(self, function):
        self.passes[function.func.__name__] += 1
        return super().fold(function)


def test_most_optima_cost_few_evaluations():
    structure = Full(4, 4)
    rows = CountedRows(rows_of(0, 400, 4).source)
    grid = [off_diagonal(4, lam, 1.0) for lam in 10.0 ** np.arange(3, -3, -0.1)]
    start = structure.pack(np.eye(4, 5))
    options = {"every_row_right": False, "tol": 1e-10, "max_iter": 50}
    list(solve_path(Likelihood(rows, structure), grid, start, **options))
    assert rows.passes["_evaluate"] <= 4 * len(grid)
    assert rows.passes["evaluate_with_hessian"] <= len(grid) / 2
    assert set(rows.passes) <= {"_evaluate", "evaluate_with_hessian", "_max_logit_change"}
    assert rows.passes["_max_logit_change"] <= 3


@pytest.mark.parametrize("k", [3, 30])
def test_endless_optima_are_settled_and_forgotten(k):
    rows = rows_of(1, 40, k, flip=0.0)
    structure = Full(k, k)
    start = structure.pack(np.eye(k, k + 1))
    penalties = [l2(k, 1e-2), no_penalty(k), l2(k, 1e-3)]
    first, endless, last = solve_path(
        Likelihood(rows, structure),
        penalties,
        start,
        every_row_right=False,
        tol=1e-10,
        max_iter=100,
    )
    assert endless.status is Status.SEPARATED
    alone = solve(
        Objective(Likelihood(rows, structure), penalties[1]),
        start,
        every_row_right=False,
        tol=1e-12,
        max_iter=100,
    )
    assert endless.loss == pytest.approx(alone.loss, rel=1e-6)
    for solution, penalty in ((first, penalties[0]), (last, penalties[2])):
        alone = minimise(
            Objective(Likelihood(rows, structure), penalty), start, tol=1e-12, max_iter=100
        )
        assert solution.loss == pytest.approx(alone.loss, abs=1e-9)


def test_the_order_is_from_strong_to_weak_without_jumps():
    grid = [off_diagonal(3, lam, mu) for lam in (0.1, 10.0) for mu in (1.0, 100.0, 0.01)]
    assert order_of_path(grid) == [4, 3, 5, 2, 0, 1]


@pytest.mark.parametrize("k", [3, 30])
def test_one_kind_of_penalty_is_settled_throughout(k):
    rows = rows_of(2, 40, k, flip=0.0)
    structure = Full(k, k)
    start = structure.pack(np.eye(k, k + 1))
    grid = [off_diagonal(k, lam, 1.0) for lam in (10.0, 1.0, 0.1, 0.01)]
    options = {"every_row_right": True, "tol": 1e-10, "max_iter": 100}
    path = solve_path(Likelihood(rows, structure), grid, start, **options)
    for solution, penalty in zip(path, grid, strict=True):
        alone = solve(Objective(Likelihood(rows, structure), penalty), start, **options)
        assert solution.status is alone.status is Status.SEPARATED
        scores = rows.source.fold(lambda chunk: [chunk])[0].scores
        one = structure.logits(solution.params, scores)
        other = structure.logits(alone.params, scores)
        assert np.abs((one - one.mean(axis=0)) - (other - other.mean(axis=0))).max() < 0.1
