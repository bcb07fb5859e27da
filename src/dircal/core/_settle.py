"""A definite answer where the optimum is at infinity."""

from dataclasses import replace

import numpy as np

from dircal._typing import FloatArray
from dircal.core._objective import Objective
from dircal.core._penalty import Penalty
from dircal.core._solve import Solution, Status, minimise

__all__ = ["settle"]

# Weight of a squared logit: far too little to matter where rows say anything, and enough to be
# seen above rounding errors where they do not.
_TRACE = 1e-7
# As far as rounding allows: two ways to the same optimum should end at the same digits.
_TOLERANCE = 1e-24


def settle(objective: Objective, start: FloatArray, *, max_iter: int) -> Solution:
    """The optimum with a trace of a penalty, for an objective that has no finite one.

    Where a solver stops on its way to infinity is an accident of its steps; this point is not. It
    depends on the rows alone, whatever their order or their weights are made of.
    """
    k = objective.rows.n_classes
    squares = np.zeros(k)
    for chunk in objective.rows:
        squares += np.einsum("jm,jm,m->j", chunk.scores, chunk.scores, chunk.weight)
    trace = _TRACE * np.append(np.maximum(squares, 1.0), 1.0)
    penalty = Penalty(objective.penalty.weight + trace, objective.penalty.centre)
    held = replace(objective, penalty=penalty)
    found = minimise(held, start, tol=_TOLERANCE, max_iter=max_iter)
    loss, _ = objective.loss_and_gradient(found.params)
    return replace(found, loss=loss, n_passes=found.n_passes + 2, status=Status.AT_INFINITY)
