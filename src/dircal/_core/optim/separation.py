"""A definite answer where the classes are separated and the optimum is at infinity.

Where a direction separates some classes without error the likelihood has no finite maximum
(Albert & Anderson, 1984): a solver stops somewhere on its way, by an accident of its steps. A ridge
far too weak to matter where rows say anything holds the map there, so that it depends on the rows
alone, whatever their order or their weights are made of.
"""

from dataclasses import replace

import numpy as np

from dircal._core.model.objective import Objective
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.newton import Solution, Status, minimise
from dircal._core.optim.recession import SeparationTest
from dircal._core.optim.steps import ConvexObjective
from dircal._core.optim.subsampled import minimise_with_subsample, rough_tolerance
from dircal._typing import FloatArray

__all__ = ["better_start", "solve", "solve_separated"]


def solve(
    objective: Objective,
    start: FloatArray,
    *,
    every_row_right: bool,
    tol: float,
    max_iter: int,
) -> Solution:
    """The optimum, or the point that stands for it where it is at infinity.

    ``every_row_right`` says that larger slopes are always better: if the diagonal is free there is
    no finite optimum, wherever a solver would end. Nor is there one where a class has no rows and
    its intercept is free: the lower, the better.
    """
    start = better_start(objective, start)
    free = not np.diagonal(objective.penalty.weight).any()
    if not ((every_row_right and free) or _lacks_a_class(objective)):
        solution = _minimise_from_subsample(objective, start, tol=tol, max_iter=max_iter)
        if solution.status is not Status.SEPARATED:
            return solution
    held = solve_separated(
        objective.with_ridge(OPTIM_LIMITS.get().separation_ridge), start, max_iter=max_iter
    )
    loss = objective.evaluate(held.params).loss
    return replace(held, loss=loss, n_passes=held.n_passes + 1)


def _minimise_from_subsample(
    objective: Objective, start: FloatArray, *, tol: float, max_iter: int
) -> Solution:
    """The optimum; that of a subsample is a warm start where there are many rows.

    Unless the subsample lacks a class, or has no finite optimum of its own for another reason.
    """
    test, few = SeparationTest(objective), objective.subsample()
    if few is not None and not _lacks_a_class(few):
        rough = max(tol, rough_tolerance(few))
        guess = solve(few, start, every_row_right=False, tol=rough, max_iter=max_iter)
        if guess.status is Status.CONVERGED:
            return minimise_with_subsample(
                objective, few, guess.params, tol=tol, max_iter=max_iter, separation=test
            )
    return minimise(objective, start, tol=tol, max_iter=max_iter, separation=test)


def _lacks_a_class(objective: Objective) -> bool:
    """Whether a class that has no rows has an intercept that nothing holds."""
    if objective.n_params == 1 or objective.penalty.weight[:, -1].any():
        return False
    of_classes = objective.likelihood.rows.source.survey.class_weights
    return bool((of_classes <= 0.0).any())


def better_start(objective: Objective, start: FloatArray) -> FloatArray:
    """``start``, or zero where the penalty makes that the better one."""
    loss, _ = objective.from_penalty(start)
    if loss <= np.log(objective.likelihood.rows.n_classes):
        return start
    return np.zeros_like(start)


def solve_separated(objective: ConvexObjective, start: FloatArray, *, max_iter: int) -> Solution:
    """The optimum of an objective that only its ridge keeps from infinity."""
    found = minimise(objective, start, tol=OPTIM_LIMITS.get().separation_tol, max_iter=max_iter)
    return replace(found, status=Status.SEPARATED)
