"""Whether there is a finite optimum is what linear programming over all rows says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.special import log_softmax

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import Penalty, l2, no_penalty, off_diagonal
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.recession import SeparationTest, Verdict
from dircal._core.optim.separation import solve
from dircal.maps import CalibrationMap

READ = CalibrationMap(2, ()).read


def overconfident(seed, k=9):
    """Log-probabilities of a classifier that is far too sure: few rows hold a slope, or none."""
    rng = np.random.default_rng(seed)
    n = 25 if seed % 3 == 2 else 60
    y = np.r_[:k, rng.integers(0, k, n - k)]
    return log_softmax(12.0 * (rng.normal(size=(n, k)) + 2.0 * np.eye(k)[y]), axis=1), y


def odir_of(scores, y, structure=None, chunk_rows=None, penalty=None):
    k = scores.shape[1]
    rows = Rows(ArraySource(scores, y, None, READ, chunk_rows=chunk_rows))
    likelihood = Likelihood(rows, structure or Full(k, k))
    return Objective(likelihood, penalty or off_diagonal(k, 0.5, 0.1))


def has_direction(scores, y):
    """Whether slopes of the classes alone separate the rows, by one program over all of them."""
    n, k = scores.shape
    margins = np.zeros((n, k, k))
    every = np.arange(n)
    for j in range(k):
        margins[every, j, y] += scores[every, y]
        margins[every, j, j] -= scores[every, j]
    margins = margins[np.arange(k) != y[:, None]]
    margins /= np.abs(margins).sum(axis=1, keepdims=True)
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    total = margins.sum(axis=0)
    rows = (-margins, np.zeros(len(margins)))
    best = linprog(-total, A_ub=rows[0], b_ub=rows[1], bounds=(-1, 1), options=exact)
    return -best.fun > 1e-6


def start_of(structure):
    k = structure.n_classes
    return structure.pack(np.eye(k, k + 1))


def solved(objective):
    start = start_of(objective.structure)
    return solve(objective, start, every_row_right=False, tol=1e-12, max_iter=100)


@pytest.mark.parametrize("seed", range(20))
def test_a_finite_optimum_is_reached_and_no_other_is_claimed(seed):
    scores, y = overconfident(seed)
    objective = odir_of(scores, y)
    found = solved(objective)
    expected = Status.SEPARATED if has_direction(scores, y) else Status.CONVERGED
    assert found.status is expected
    if expected is Status.CONVERGED:
        further = minimise(objective, found.params, tol=1e-24, max_iter=100)
        assert found.loss == pytest.approx(further.loss, abs=1e-12)
        assert np.abs(objective.evaluate(found.params).gradient).max() < 1e-6


def test_both_answers_occur():
    answers = [has_direction(*overconfident(seed)) for seed in range(20)]
    assert 0 < sum(answers) < 20


@pytest.mark.parametrize("seed", range(6))
def test_the_answer_does_not_depend_on_chunks_or_on_the_first_guess(seed, use_limits):
    use_limits("OptimLimits", min_program_rows=2, program_rows_per_param=0)
    scores, y = overconfident(seed)
    expected = Verdict.SEPARATED if has_direction(scores, y) else Verdict.FINITE
    rng = np.random.default_rng(seed)
    for chunk_rows in (1, 7, None):
        objective = odir_of(scores, y, chunk_rows=chunk_rows)
        gradient = objective.evaluate(start_of(objective.structure)).gradient
        test = SeparationTest(objective)
        assert test.decide([rng.normal(size=len(gradient))], gradient) is expected
        assert test.n_passes > 2


def test_what_is_penalised_is_no_way_out():
    """Intercepts separate an absent class where they are free, and only there."""
    rng = np.random.default_rng(0)
    scores = log_softmax(rng.normal(size=(200, 3)), axis=1)
    y = rng.integers(0, 2, 200)
    free_intercepts = off_diagonal(3, 1.0, 0.0)
    assert solved(odir_of(scores, y, penalty=free_intercepts)).status is Status.SEPARATED
    assert solved(odir_of(scores, y, penalty=l2(3, 1e-6))).status is Status.CONVERGED
    assert SeparationTest(odir_of(scores, y, penalty=l2(3, 1e-6))).is_finite


def test_one_row_can_make_the_optimum_finite():
    """Slopes in the hundreds, which only two rows hold that are nearly the same."""
    scores = np.log(np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8], [0.5, 0.5]]))
    y = np.array([0, 0, 1, 1, 1])
    slope = Penalty(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]), np.zeros((2, 3)))
    assert solved(odir_of(scores, y, penalty=slope)).status is Status.SEPARATED
    scores, y = np.vstack([scores, scores[1] * [1.0, 1.0 + 1e-2]]), np.append(y, 1)
    found = solved(odir_of(scores, y, penalty=slope))
    assert found.status is Status.CONVERGED


def test_a_direction_that_changes_nothing_does_not_count():
    scores = np.log(np.full((42, 3), 1.0 / 3.0))
    y = np.arange(42) % 3
    for structure in (Full(3, 3), Diagonal(3)):
        objective = odir_of(scores, y, structure, penalty=no_penalty(3))
        found = solved(objective)
        assert found.status is Status.CONVERGED
        assert_allclose(found.loss, objective.evaluate(np.zeros(structure.n_params)).loss)
        direction = structure.pack(np.column_stack([np.zeros((3, 3)), np.ones(3)]))
        verdict = SeparationTest(objective).decide([direction], np.ones(structure.n_params))
        assert verdict is not Verdict.SEPARATED


def test_too_many_free_parameters_are_left_open(use_limits):
    scores, y = overconfident(0)
    objective = odir_of(scores, y)
    use_limits("OptimLimits", max_program_params=3)
    gradient = objective.evaluate(start_of(objective.structure)).gradient
    assert SeparationTest(objective).decide([gradient], gradient) is Verdict.OPEN
    test = SeparationTest(objective)
    start = start_of(objective.structure)
    found = minimise(objective, start, tol=1e-12, max_iter=100, separation=test)
    assert found.status is Status.CONVERGED
