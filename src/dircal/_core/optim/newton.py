"""Newton's method: the one loop, and what it returns.

Convergence is a statement about the objective: the predicted decrease of a Newton step, half the
squared Newton decrement (Boyd & Vandenberghe, section 9.5), is below ``tol``. It does not depend on
the scale of any column, so a column of ``ln 0`` changes nothing about it.

The step itself comes from `steps`: by a Cholesky factorisation while the Hessian is small, by
preconditioned conjugate gradients beyond.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum

from dircal._core.data.simplex import SUM_ROUNDING
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.recession import SeparationTest, Verdict
from dircal._core.optim.steps import (
    ConvexObjective,
    LinearisedObjective,
    NewtonCG,
    NewtonCholesky,
    NewtonSteps,
    Point,
)
from dircal._typing import FloatArray

__all__ = [
    "WATCHER",
    "Iteration",
    "Solution",
    "Status",
    "forms_hessian",
    "minimise",
    "with_history",
]

WATCHER: ContextVar[Callable[[int], None] | None] = ContextVar("WATCHER", default=None)
"""Hears of every Newton step, in whichever of the solves of a fit it is."""


class Status(Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    SEPARATED = "the classes are separated: the optimum is at infinity"
    ITERATION_LIMIT = "iteration limit"
    STALLED = "no progress in floating point"


@dataclass(frozen=True)
class Iteration:
    """One step of a solver.

    ``loss`` is the objective where the step begins, ``predicted_decrease`` that of a quadratic
    model, ``step_length`` the part of the step that was taken, and ``n_passes`` counts passes
    over the rows until then.
    """

    loss: float
    predicted_decrease: float
    step_length: float
    n_passes: int


@dataclass(frozen=True)
class Solution:
    """Where a solver ended: parameters (p,), objective, cost and status.

    ``n_passes`` counts evaluations of the objective and Hessian products, each of which reads all
    rows once. ``evaluated`` is the last point at which they were read, a step before the end where
    the solver converged.
    """

    params: FloatArray
    loss: float
    n_iter: int
    n_passes: int
    status: Status
    evaluated: Point
    history: Sequence[Iteration] = ()


def with_history(solution: Solution, before: Sequence[Iteration]) -> Solution:
    """A solution that counts the steps of solves before it."""
    history = (*before, *solution.history)
    return replace(solution, n_iter=len(history), history=history)


def forms_hessian(n_params: int) -> bool:
    """Whether the Hessian of so many parameters is formed."""
    return n_params <= OPTIM_LIMITS.get().max_direct_params


def minimise(
    objective: ConvexObjective,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    steps: NewtonSteps | None = None,
    separation: SeparationTest | None = None,
) -> Solution:
    """Minimise ``objective`` from ``start``; slow progress is reported, never raised.

    ``separation`` decides whether there is a finite optimum, where steps raise the question; None
    where it is known that there is one.
    """
    limits = OPTIM_LIMITS.get()
    steps = steps or _choose_steps(objective, len(start), tol)
    negligible = limits.negligible_decrease / max(objective.total_weight, 100.0)
    known = separation is None or separation.is_finite
    history: list[Iteration] = []
    watch = WATCHER.get()

    # 1. Look at the start.
    point, n_passes, n_long = steps.evaluate(start), 1, 0

    def ended(status: Status, params: FloatArray, loss: float) -> Solution:
        total = n_passes + (0 if separation is None else separation.n_passes)
        return Solution(params, loss, len(history), total, status, point, tuple(history))

    for _ in range(max_iter):
        # 2. The Newton step, and the decrease that a quadratic model predicts.
        newton = steps.newton_step(point)
        step, predicted = newton.step, newton.predicted_decrease
        n_passes += newton.n_passes
        history.append(Iteration(point.at.loss, predicted, 0.0, n_passes))
        if watch is not None:
            watch(1)

        # 3. Stop where there is none, unless it is a long step and may be one of endlessly many.
        enough = predicted <= tol or newton.decrease_after <= limits.predicted_fraction * tol
        if enough or predicted <= negligible:
            if separation is not None and not known:
                n_long = n_long + 1 if separation.is_long(step, limits.min_long_change) else 0
            if separation is not None and not known and n_long >= limits.min_long_steps:
                verdict = separation.decide((step, point.params), point.at.gradient)
                known = verdict is Verdict.FINITE
                if verdict is Verdict.SEPARATED or (not known and n_long >= limits.max_open_steps):
                    return ended(Status.SEPARATED, point.params, point.at.loss)
            elif enough and (known or n_long == 0):
                # The step is known and free of risk: take it, the error falls quadratically.
                return ended(Status.CONVERGED, point.params + step, point.at.loss - predicted)

        # 4. Go as much of the way as lowers the objective.
        reached, trials, length = _line_search(objective, steps, point, step)
        n_passes += trials
        history[-1] = Iteration(point.at.loss, predicted, length, n_passes)
        if reached is None:
            return ended(Status.STALLED, point.params, point.at.loss)

        # 5. And again from there.
        point = reached
    return ended(Status.ITERATION_LIMIT, point.params, point.at.loss)


def _choose_steps(objective: ConvexObjective, n_params: int, tol: float) -> NewtonSteps:
    if forms_hessian(n_params):
        return NewtonCholesky(objective)
    assert isinstance(objective, LinearisedObjective)
    return NewtonCG(objective, tol)


def _line_search(
    objective: ConvexObjective, steps: NewtonSteps, point: Point, step: FloatArray
) -> tuple[Point | None, int, float]:
    """The whole of ``step``, or the first of shrinking parts that lowers the objective enough.

    Returns the point reached, if any, the passes spent and the part of the step. Only the whole
    step is looked at with its Hessian, which most of the others would form for nothing.
    """
    limits = OPTIM_LIMITS.get()
    slope = float(point.at.gradient @ step)
    slack = SUM_ROUNDING * max(abs(point.at.loss), 1.0)
    length = 1.0
    for trial in range(1, limits.max_halvings + 1):
        reached = steps.evaluate(point.params + length * step, with_hessian=trial == 1)
        if reached.at.loss <= point.at.loss + limits.armijo * length * slope + slack:
            return reached, trial + (trial > 1), length
        if trial == 1:
            change = objective.max_logit_change(step)
            length = min(0.5, limits.max_logit_change / change) if change > 0.0 else 0.5
        else:
            length *= 0.5
    return None, limits.max_halvings + 1, 0.0
