"""A definite answer where the optimum is at infinity."""

from dataclasses import replace

import numpy as np

from dircal._core.model.logistic import LogisticObjective
from dircal._core.model.objective import Objective
from dircal._core.optim.newton import Solution, Status, minimise
from dircal._typing import FloatArray

__all__ = ["TRACE", "settle", "solve"]

TRACE = 1e-7
"""Weight of a squared logit where nothing else bounds the map: far too little to matter where rows
say anything, and enough to be seen above rounding errors where they do not."""
# As far as rounding allows: two ways to the same optimum should end at the same digits.
_TOLERANCE = 1e-24


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
    no finite optimum, wherever a solver would end.
    """
    start = better_start(objective, start)
    free = not np.diagonal(objective.penalty.weight).any()
    if not (every_row_right and free):
        solution = minimise(objective, start, tol=tol, max_iter=max_iter)
        if solution.status is not Status.AT_INFINITY:
            return solution
    settled = settle(objective.held(TRACE), start, max_iter=max_iter)
    loss, _ = objective.loss_and_gradient(settled.params)
    return replace(settled, loss=loss, n_passes=settled.n_passes + 1)


def better_start(objective: Objective, start: FloatArray) -> FloatArray:
    """``start``, or zero where the penalty makes that the better one."""
    loss, _ = objective.from_penalty(start)
    if loss <= np.log(objective.rows.n_classes):
        return start
    return np.zeros_like(start)


def settle(
    objective: Objective | LogisticObjective, start: FloatArray, *, max_iter: int
) -> Solution:
    """The optimum of an objective that only a trace of a penalty keeps from infinity.

    Where a solver stops on its way to infinity is an accident of its steps; this point is not. It
    depends on the rows alone, whatever their order or their weights are made of.
    """
    found = minimise(objective, start, tol=_TOLERANCE, max_iter=max_iter)
    return replace(found, status=Status.AT_INFINITY)
