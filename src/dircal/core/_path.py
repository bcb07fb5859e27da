"""Many penalties on the same rows, each solved from where the one before ended.

Along a grid of strengths the likelihood stays the same and its curvature hardly moves. So the
Hessian of the likelihood is kept from point to point, only the penalty on its diagonal changes,
and most optima cost a factorisation and one or two evaluations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray
from dircal.core._objective import Objective
from dircal.core._penalty import Penalty, no_penalty
from dircal.core._rows import Rows
from dircal.core._settle import settle
from dircal.core._solve import Solution, Status, factorised, is_direct, minimise, runs_away
from dircal.core._structure import Structure

__all__ = ["order_of_path", "solve_path"]

# A step with an old Hessian is worth its evaluation while promises fall by this factor.
_WORTH_KEEPING = 0.1
# Steps with old Hessians before the ordinary solver takes over.
_PATIENCE = 12


@dataclass(frozen=True)
class _Place:
    """A point with the value and gradient (p,) of the likelihood alone."""

    params: FloatArray
    loss: float
    gradient: FloatArray


def order_of_path(penalties: Sequence[Penalty]) -> list[int]:
    """Positions of the penalties from strong to weak, so that neighbours are close.

    Strengths on the matrix come first; those on the intercepts run down and up in turns.
    """
    keys = [(float(p.weight[:, :-1].sum()), float(p.weight[:, -1].sum())) for p in penalties]
    order: list[int] = []
    for turn, strength in enumerate(sorted({matrix for matrix, _ in keys}, reverse=True)):
        group = [i for i, (matrix, _) in enumerate(keys) if matrix == strength]
        order += sorted(group, key=lambda i: keys[i][1], reverse=turn % 2 == 0)
    return order


def solve_path(
    rows: Rows,
    structure: Structure,
    penalties: Sequence[Penalty],
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
) -> Iterator[Solution]:
    """The optimum of each penalty, in the order given, to ``tol`` in the objective."""
    if is_direct(structure):
        yield from _Walk(rows, structure, start, tol, max_iter).along(penalties)
        return
    params = start
    for penalty in penalties:
        objective = Objective(rows, structure, penalty)
        solution = _solve(objective, params, start, tol, max_iter)
        # A map that was held back on its way to infinity is no place to start from.
        params = start if solution.status is Status.AT_INFINITY else solution.params
        yield solution


def _solve(
    objective: Objective, params: FloatArray, start: FloatArray, tol: float, max_iter: int
) -> Solution:
    solution = minimise(objective, params, tol=tol, max_iter=max_iter)
    if solution.status is not Status.AT_INFINITY:
        return solution
    return settle(objective, start, max_iter=max_iter)


class _Walk:
    """Newton's method with a Hessian of the likelihood that serves several penalties."""

    def __init__(
        self, rows: Rows, structure: Structure, start: FloatArray, tol: float, max_iter: int
    ) -> None:
        self.likelihood = Objective(rows, structure, no_penalty(rows.n_classes))
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self._look_again(start)

    def _look_again(self, params: FloatArray) -> None:
        """Stand at ``params`` with its own Hessian."""
        at = self.likelihood.second_order(params)
        self.place = _Place(params, at.loss, at.gradient)
        self.hessian = at.hessian

    def along(self, penalties: Sequence[Penalty]) -> Iterator[Solution]:
        for penalty in penalties:
            objective = Objective(self.likelihood.rows, self.likelihood.structure, penalty)
            yield self._go(objective) or self._from_scratch(objective)

    def _from_scratch(self, objective: Objective) -> Solution:
        solution = _solve(objective, self.start, self.start, self.tol, self.max_iter)
        endless = solution.status is Status.AT_INFINITY
        self._look_again(self.start if endless else solution.params)
        return solution

    def _go(self, objective: Objective) -> Solution | None:
        """From the place where the last penalty ended; None if the way is not smooth."""
        solve = factorised(objective, self.hessian + np.diag(objective.penalty_curvature))
        loss, gradient = self._with_penalty(objective)
        before = np.inf
        for n_iter in range(1, _PATIENCE + 1):
            step = solve(-gradient)
            promised = -0.5 * float(gradient @ step)
            if promised > _WORTH_KEEPING * before:
                self._look_again(self.place.params)
                solve = factorised(objective, self.hessian + np.diag(objective.penalty_curvature))
                step = solve(-gradient)
                promised = -0.5 * float(gradient @ step)
            if promised <= self.tol:
                if runs_away(objective, step, promised):
                    return None
                params = self.place.params + step
                return Solution(params, loss - promised, n_iter, n_iter, Status.CONVERGED)
            reached = self.place.params + step
            self.place = _Place(reached, *self.likelihood.loss_and_gradient(reached))
            lower, gradient = self._with_penalty(objective)
            if not lower < loss:
                return None
            loss, before = lower, promised
        return None

    def _with_penalty(self, objective: Objective) -> tuple[float, FloatArray]:
        """Objective and gradient where we stand."""
        loss, gradient = objective.from_penalty(self.place.params)
        return loss + self.place.loss, gradient + self.place.gradient
