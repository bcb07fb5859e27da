"""Many penalties on the same rows, each solved from where the one before ended.

Along a grid of strengths the likelihood stays the same and its curvature hardly moves. So the
Hessian of the likelihood is kept from point to point, only the penalty on its diagonal changes,
and most optima cost a factorisation and one or two evaluations.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dircal._core.data.chunks import Rows
from dircal._core.model.objective import Objective
from dircal._core.model.penalty import Penalty, no_penalty
from dircal._core.model.structure import Structure
from dircal._core.optim.newton import Solution, Status, factorised, is_direct, minimise
from dircal._core.optim.separation import TRACE, solve
from dircal._typing import FloatArray

__all__ = ["Walk", "order_of_path", "solve_path"]

# A step with an old Hessian is worth its evaluation while promises fall by this factor.
_WORTH_KEEPING = 0.1
# Steps with old Hessians before the ordinary solver takes over.
_PATIENCE = 12


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
    every_row_right: bool,
    tol: float,
    max_iter: int,
) -> Iterator[Solution]:
    """The optimum of each penalty, in the order given, to ``tol`` in the objective.

    Whether there is a finite optimum depends on which entries are penalised, not on how much. So
    the first of each kind, solved from scratch, decides for those that follow it.
    """
    kind, walk = None, None
    for penalty in penalties:
        objective = Objective(rows, structure, penalty)
        if walk is None or (penalty.weight > 0.0).tobytes() != kind:
            kind = (penalty.weight > 0.0).tobytes()
            solution = solve(
                objective, start, every_row_right=every_row_right, tol=tol, max_iter=max_iter
            )
            endless = solution.status is Status.AT_INFINITY
            walk = Walk(rows, structure, solution.params, endless, tol, max_iter)
        else:
            solution = walk.go(objective)
        yield solution


class Walk:
    """Newton's method with a Hessian of the likelihood that serves several penalties.

    Where the optima are at infinity a trace of a penalty holds them, as in `solve`.
    """

    def __init__(
        self,
        rows: Rows,
        structure: Structure,
        params: FloatArray,
        endless: bool,
        tol: float,
        max_iter: int,
    ) -> None:
        self.likelihood = Objective(rows, structure, no_penalty(rows.n_classes))
        self.endless = endless
        self.tol = tol
        self.max_iter = max_iter
        self.direct = is_direct(structure)
        self.stand_at(params)

    def stand_at(self, params: FloatArray) -> None:
        """Go to ``params`` and look around there, where Hessians are formed."""
        self.params = params
        if self.direct:
            at = self.likelihood.second_order(params)
            self.loss, self.gradient, self.hessian = at.loss, at.gradient, at.hessian

    def go(self, objective: Objective) -> Solution:
        """The optimum of another penalty, from where the last one was."""
        held = objective.held(TRACE) if self.endless else objective
        origin = self.params
        found = self._go(held) if self.direct else None
        if found is None:
            found = minimise(held, origin, tol=self.tol, max_iter=self.max_iter)
            self.stand_at(found.params)
        return replace(found, status=Status.AT_INFINITY) if self.endless else found

    def _go(self, objective: Objective) -> Solution | None:
        """By steps with an old Hessian; None if the way is not smooth."""
        solve_with = self._factorised(objective)
        loss, gradient = self._with_penalty(objective)
        before = np.inf
        for n_iter in range(1, _PATIENCE + 1):
            step = solve_with(-gradient)
            promised = -0.5 * float(gradient @ step)
            if promised > _WORTH_KEEPING * before:
                self.stand_at(self.params)
                solve_with = self._factorised(objective)
                step = solve_with(-gradient)
                promised = -0.5 * float(gradient @ step)
            if promised <= self.tol:
                params = self.params + step
                return Solution(params, loss - promised, n_iter, n_iter, Status.CONVERGED)
            self.params = self.params + step
            self.loss, self.gradient = self.likelihood.loss_and_gradient(self.params)
            lower, gradient = self._with_penalty(objective)
            if not lower < loss:
                return None
            loss, before = lower, promised
        return None

    def _factorised(self, objective: Objective) -> Callable[[FloatArray], FloatArray]:
        return factorised(objective, self.hessian + np.diag(objective.penalty_curvature))

    def _with_penalty(self, objective: Objective) -> tuple[float, FloatArray]:
        """Objective and gradient where we stand."""
        loss, gradient = objective.from_penalty(self.params)
        return loss + self.loss, gradient + self.gradient
