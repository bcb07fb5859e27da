"""A definite answer where the optimum is at infinity."""

from dataclasses import replace

from dircal._typing import FloatArray
from dircal.core._logistic import LogisticObjective
from dircal.core._objective import Objective
from dircal.core._solve import Solution, Status, minimise

__all__ = ["settle"]

# Weight of a squared logit: far too little to matter where rows say anything, and enough to be
# seen above rounding errors where they do not.
_TRACE = 1e-7
# As far as rounding allows: two ways to the same optimum should end at the same digits.
_TOLERANCE = 1e-24


def settle(
    objective: Objective | LogisticObjective, start: FloatArray, *, max_iter: int
) -> Solution:
    """The optimum with a trace of a penalty, for an objective that has no finite one.

    Where a solver stops on its way to infinity is an accident of its steps; this point is not. It
    depends on the rows alone, whatever their order or their weights are made of.
    """
    found = minimise(objective.held(_TRACE), start, tol=_TOLERANCE, max_iter=max_iter)
    loss, _ = objective.loss_and_gradient(found.params)
    return replace(found, loss=loss, n_passes=found.n_passes + 2, status=Status.AT_INFINITY)
