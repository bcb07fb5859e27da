"""Steps with the Hessian of a subsample: fewer passes to the same optimum."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import l2, no_penalty
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.separation import solve
from dircal._core.optim.steps import Point
from dircal._core.optim.subsampled import SubsampledNewton, minimise_with_subsample
from dircal.maps import CalibrationMap, LogSoftmax

READ = CalibrationMap(2, (LogSoftmax(),)).read
LIMITS = {"tol": 1e-12, "max_iter": 100}


@pytest.fixture
def problem(make_problem):
    return make_problem(0, n=20_000, k=4)


def objective_of(problem, structure, penalty):
    rows = Rows(ArraySource(problem.logits, problem.y, None, READ))
    return Objective(Likelihood(rows, structure), penalty)


def start_of(structure):
    return structure.pack(np.eye(4, 5))


@pytest.mark.parametrize("formed", [True, False])
@pytest.mark.parametrize("structure", [Full(4, 4), Full(4, 3), Diagonal(4)], ids=str)
def test_the_optimum_is_that_of_all_rows(structure, formed, problem, use_limits):
    if not formed:
        use_limits("OptimLimits", max_direct_params=1)
    objective = objective_of(problem, structure, l2(4, 1e-3))
    cold = minimise(objective, start_of(structure), **LIMITS)
    warm = solve(objective, start_of(structure), every_row_right=False, **LIMITS)
    assert warm.status is cold.status is Status.CONVERGED
    assert warm.n_passes < cold.n_passes
    assert warm.loss == pytest.approx(cold.loss, abs=1e-12)
    assert_allclose(warm.params, cold.params, atol=1e-5)


def test_a_pair_of_gradients_puts_the_hessian_right_along_a_step(problem):
    """The secant equation: along the last step the inverse Hessian agrees with the gradients."""
    structure = Full(4, 4)
    objective = objective_of(problem, structure, l2(4, 1e-2))
    # As wrong as can be: twice the curvature of all rows.
    few = replace(objective.subsample(), penalty=l2(4, 1.0))
    steps = SubsampledNewton(objective, few)
    first = steps.evaluate(start_of(structure))
    step = steps.newton_step(first).step
    second = steps.evaluate(first.params + step)
    steps.newton_step(second)
    change = second.at.gradient - first.at.gradient
    point = Point(second.params, replace(second.at, gradient=change))
    steps._last = None
    assert_allclose(steps.newton_step(point).step, -step, rtol=1e-8, atol=1e-12)


def test_a_subsample_that_misleads_costs_passes_and_not_the_answer(problem):
    structure = Full(4, 4)
    objective = objective_of(problem, structure, l2(4, 1e-3))
    few = replace(objective.subsample(), penalty=l2(4, 1e3))
    found = minimise_with_subsample(objective, few, start_of(structure), **LIMITS)
    cold = minimise(objective, start_of(structure), **LIMITS)
    assert found.status is Status.CONVERGED
    assert found.loss == pytest.approx(cold.loss, abs=1e-12)
    passes = [each.n_passes for each in found.history]
    assert passes == sorted(passes)
    assert found.n_iter == len(passes) > cold.n_iter


def test_the_limit_of_iterations_counts_all_of_them(problem):
    structure = Full(4, 4)
    objective = objective_of(problem, structure, no_penalty(4))
    found = solve(objective, start_of(structure), every_row_right=False, tol=1e-300, max_iter=9)
    assert found.n_iter <= 9
    assert found.status is not Status.CONVERGED
