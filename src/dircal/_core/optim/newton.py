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

# Parameters up to which the Hessian is formed: above some 25 classes its cost passes that of the
# products of a whole conjugate-gradient solution.
_DIRECT_PARAMS = 700
# Sufficient decrease (Nocedal & Wright, section 3.1), and how often a step is halved for it: 2^-40
# of a step is lost in rounding.
_ARMIJO = 1e-4
_HALVINGS = 40
# A step that foretells the decrease of the next is the last where that is below this part of the
# tolerance.
_FORETOLD = 0.1
# After a first failure no trial moves a logit further than this: a step into a flat direction can
# be longer than many halvings.
_MAX_LOGIT_CHANGE = 1e6
# Down an exponential tail each Newton step moves some logit by one, and near a finite optimum steps
# shrink quadratically. One that still moves a logit by half a unit, while the predicted decrease
# summed over all rows is below 1e-6 nats, raises the question of separation, and three in a row
# are reason enough to decide it. A shorter one answers it: probabilities p (1 + change of the logit
# less its mean) are positive then and have no gradient in free parameters, which no direction of
# separation allows (Stiemke's lemma).
_LONG_CHANGE = 0.5
_LONG_STEPS = 3
# A question that stays open, because too many parameters are free to solve it, is answered in so
# many steps by the map that a ridge holds: it is the same as any other for all that rows can tell.
_OPEN_STEPS = 20
_NEGLIGIBLE_DECREASE = 1e-6


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
    return n_params <= _DIRECT_PARAMS


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
    steps = steps or _choose_steps(objective, len(start), tol)
    negligible = _NEGLIGIBLE_DECREASE / max(objective.total_weight, 100.0)
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
        enough = predicted <= tol or newton.decrease_after <= _FORETOLD * tol
        if enough or predicted <= negligible:
            if separation is not None and not known:
                n_long = n_long + 1 if separation.is_long(step, _LONG_CHANGE) else 0
            if separation is not None and not known and n_long >= _LONG_STEPS:
                verdict = separation.decide((step, point.params), point.at.gradient)
                known = verdict is Verdict.FINITE
                if verdict is Verdict.SEPARATED or (not known and n_long >= _OPEN_STEPS):
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
    slope = float(point.at.gradient @ step)
    slack = SUM_ROUNDING * max(abs(point.at.loss), 1.0)
    length = 1.0
    for trial in range(1, _HALVINGS + 1):
        reached = steps.evaluate(point.params + length * step, with_hessian=trial == 1)
        if reached.at.loss <= point.at.loss + _ARMIJO * length * slope + slack:
            return reached, trial + (trial > 1), length
        if trial == 1:
            change = objective.max_logit_change(step)
            length = min(0.5, _MAX_LOGIT_CHANGE / change) if change > 0.0 else 0.5
        else:
            length *= 0.5
    return None, _HALVINGS + 1, 0.0
