"""A regularisation path: many penalties on the same rows, each solved from where the last ended.

Along a grid of strengths the likelihood stays the same and its curvature hardly moves. So each fit
is a warm start with the Hessian of the likelihood from the points before; only the penalty on its
diagonal changes, and most optima cost a factorisation and one or two evaluations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import Penalty
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.newton import Solution, Status, forms_hessian, minimise
from dircal._core.optim.separation import solve
from dircal._core.optim.steps import NewtonCG, NewtonCholesky, NewtonSteps
from dircal._core.optim.subsampled import minimise_with_subsample, rough_tolerance
from dircal._typing import FloatArray

__all__ = ["PathSolver", "order_of_path", "solve_path"]


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
    likelihood: Likelihood,
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
    kind, path = None, None
    for penalty in penalties:
        objective = Objective(likelihood, penalty)
        if path is None or (penalty.weight > 0.0).tobytes() != kind:
            kind = (penalty.weight > 0.0).tobytes()
            solution = solve(
                objective, start, every_row_right=every_row_right, tol=tol, max_iter=max_iter
            )
            separated = solution.status is Status.SEPARATED
            path = PathSolver(likelihood, solution.params, separated, tol, max_iter)
        else:
            solution = path.solve(objective)
        yield solution


class PathSolver:
    """Warm starts with a Hessian of the likelihood that serves several penalties.

    Where classes are ``separated`` a ridge holds the optima, as in `solve`. With ``few``, the same
    for a subsample, its optimum is where the first solution starts, and its Hessian serves until
    that of all rows is formed.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        params: FloatArray,
        separated: bool,
        tol: float,
        max_iter: int,
        few: "PathSolver | None" = None,
    ) -> None:
        self.likelihood = likelihood
        self.separated = separated
        self.tol = tol
        self.max_iter = max_iter
        self.forms_hessian = forms_hessian(likelihood.structure.n_params)
        self.few = few
        self.params = params
        self._products: NewtonCG | None = None
        self._has_started = False
        if few is None:
            self.linearise_at(params)

    def linearise_at(self, params: FloatArray) -> None:
        """Start from ``params``, with the Hessian there where Hessians are formed."""
        self.params = params
        if self.forms_hessian:
            self.likelihood.evaluate_with_hessian(params)

    def solve(self, objective: Objective) -> Solution:
        """The optimum of another penalty, from where the last one was."""
        held = (
            objective.with_ridge(OPTIM_LIMITS.get().separation_ridge)
            if self.separated
            else objective
        )
        found = self.solve_to(held, self.tol)
        # Where the rows were read last, so that the next penalty need not read them there again.
        last = self.likelihood.last_params
        self.params = found.params if last is None or not self.forms_hessian else last
        return replace(found, status=Status.SEPARATED) if self.separated else found

    def solve_to(self, objective: Objective, tol: float) -> Solution:
        """The optimum to ``tol``, from where the last one was and with what is known there."""
        if self.few is not None and (not self.forms_hessian or self.likelihood.hessian is None):
            return self._solve_with(self.few, objective, tol)
        steps: NewtonSteps
        if self.forms_hessian:
            assert self.likelihood.hessian is not None
            steps = NewtonCholesky(objective, objective.add_penalty(self.likelihood.hessian))
        else:
            steps = self._products = NewtonCG(objective, tol, self._products)
        return minimise(
            objective,
            self.params,
            tol=tol,
            max_iter=self.max_iter,
            steps=steps,
        )

    def _solve_with(self, few: "PathSolver", objective: Objective, tol: float) -> Solution:
        """The same with the Hessian of a subsample, at first from its optimum."""
        of_few, start = replace(objective, likelihood=few.likelihood), self.params
        if not self._has_started:
            self._has_started = True
            guess = few.solve_to(of_few, max(tol, rough_tolerance(of_few)))
            start = guess.params if guess.status is Status.CONVERGED else start
        return minimise_with_subsample(objective, of_few, start, tol=tol, max_iter=self.max_iter)
