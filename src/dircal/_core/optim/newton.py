"""Newton's method on the objective, and what it returns.

Two ways to the step: exactly, by a Cholesky factorisation, while the Hessian is small; beyond that
by preconditioned conjugate gradients. Both walk the same loop.

Convergence is a statement about the objective: the decrease that a Newton step promises, half the
squared Newton decrement, is below ``tol``. It does not depend on the scale of any column, so a
column of ``ln 0`` changes nothing about it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dircal._core.model.logistic import LogisticObjective
from dircal._core.model.objective import LocalModel, Objective
from dircal._core.model.precondition import Preconditioner
from dircal._core.model.structure import Structure
from dircal._typing import FloatArray

__all__ = ["Solution", "Status", "factorised", "is_direct", "minimise", "runs_away"]

# Parameters up to which the Hessian is formed: above some 25 classes its cost passes that of the
# products of a whole conjugate-gradient solution.
_DIRECT_PARAMS = 700
_ARMIJO = 1e-4
_FAR = 1e6
_HALVINGS = 40
# A step that still moves a logit by half a unit while promising nothing is on its way to infinity
# (each Newton step down an exponential tail moves by one). Three in a row are no accident: near a
# finite optimum the steps shrink quadratically. Nothing is so many nats, in the sum over all rows.
_LONG_STEP = 0.5
_LONG_STEPS = 3
# And no penalty waits on the way: it would have a share in the curvature along the step.
_NEGLIGIBLE = 1e-6
_UNPENALISED = 1e-2
# Where a step promises less than this the Hessian hardly changes any more: the next step may use
# the old one, or the old preconditioner, and does so as long as promises fall by this factor.
_NEAR = 1e-4
_WORTH_KEEPING = 0.1
# Added to a Hessian with a unit diagonal: a direction that no row has, in which gradient and
# curvature are rounding errors, gets no step. All others hardly notice.
_DAMPING = 1e-10
# Curvature below this part of the largest is not there.
_DEAD = 1e-20
_NO_CURVATURE = 1e-10
# Single precision will do for a step that conjugate gradients find quickly: the next step makes up
# for its errors. It will not where they take more products than this, because some direction has
# very little curvature, or where a class is in no doubt, because 1 - p is lost in rounding.
_PRODUCTS_IN_SINGLE = 50
# Up to this many, all directions are much alike. Beyond, one that is nearly flat may hide in what
# is left of the residual, however little that is.
_QUICK = 10
_DOUBT_IN_SINGLE = 1e-4
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


_Linear = Callable[[FloatArray], FloatArray]
_Convex = Objective | LogisticObjective


class Status(Enum):
    """How a solver ended."""

    CONVERGED = "converged"
    AT_INFINITY = "the optimum is at infinity"
    ITERATION_LIMIT = "iteration limit"
    STALLED = "no progress in floating point"


@dataclass(frozen=True)
class Solution:
    """Where a solver ended: parameters (p,), objective, cost and status.

    ``n_passes`` counts evaluations of the objective and Hessian products, each of which reads all
    rows once.
    """

    params: FloatArray
    loss: float
    n_iter: int
    n_passes: int
    status: Status


@dataclass(frozen=True)
class _Point:
    """A point on the way: loss, gradient and the way from here to a Newton step."""

    params: FloatArray
    loss: float
    gradient: FloatArray
    newton_step: Callable[[], tuple[FloatArray, int]]


def minimise(objective: _Convex, start: FloatArray, *, tol: float, max_iter: int) -> Solution:
    """Minimise ``objective`` from ``start``; slow progress is reported, never raised."""
    look: _ExactSteps | _StepsByProducts = _ExactSteps(objective)
    if isinstance(objective, Objective) and not is_direct(objective.structure):
        look = _StepsByProducts(objective, tol)
    point = look(start)
    n_passes, n_long = 1, 0
    negligible = _NEGLIGIBLE / max(objective.rows.total_weight, 100.0)
    for n_iter in range(1, max_iter + 1):
        step, cost = point.newton_step()
        promised = -0.5 * float(point.gradient @ step)
        if promised <= max(tol, negligible):
            n_passes += 1
            n_long = n_long + 1 if runs_away(objective, step, promised) else 0
            if n_long == _LONG_STEPS:
                return Solution(
                    point.params, point.loss, n_iter, n_passes + cost, Status.AT_INFINITY
                )
            if promised <= tol and n_long == 0:
                # The step is known and free of risk: take it, the error falls quadratically.
                return Solution(
                    point.params + step,
                    point.loss - promised,
                    n_iter,
                    n_passes + cost,
                    Status.CONVERGED,
                )
        advanced, trials = _line_search(objective, look, point, step)
        n_passes += cost + trials
        if advanced is None:
            # No part of the step lowers the objective in floating point.
            return Solution(point.params, point.loss, n_iter, n_passes, Status.STALLED)
        point = advanced
    return Solution(point.params, point.loss, max_iter, n_passes, Status.ITERATION_LIMIT)


def is_direct(structure: Structure) -> bool:
    """Whether the Hessian of so many parameters is formed."""
    return structure.n_params <= _DIRECT_PARAMS


def runs_away(objective: _Convex, step: FloatArray, promised: float) -> bool:
    """Whether a step that promises next to nothing is a long one that no penalty stops."""
    return (
        objective.penalty_along(step) <= _UNPENALISED * promised
        and objective.reach(step) >= _LONG_STEP
    )


def _line_search(
    objective: _Convex, look: "_ExactSteps | _StepsByProducts", point: _Point, step: FloatArray
) -> tuple[_Point | None, int]:
    """The whole of ``step``, or the first of shrinking parts that lowers the objective enough.

    Returns the point reached, if any, and the passes spent. After the first failure no part moves
    a logit out of all proportion: a step into a flat direction can be longer than many halvings.
    Nor is any looked at with its Hessian, which most of them would form for nothing.
    """
    slope = float(point.gradient @ step)
    # Rounding errors of a loss are those of its largest terms, and probabilities near one.
    slack = _ROUNDING * max(abs(point.loss), 1.0)
    length = 1.0
    for trial in range(1, _HALVINGS + 1):
        reached = look(point.params + length * step, in_full=trial == 1)
        if reached.loss <= point.loss + _ARMIJO * length * slope + slack:
            return reached, trial + (trial > 1)
        length = min(0.5, _FAR / objective.reach(step)) if trial == 1 else 0.5 * length
    return None, _HALVINGS + 1


class _ExactSteps:
    """Looks at a point with its Hessian, or near the optimum with that of a point before."""

    def __init__(self, objective: _Convex) -> None:
        self.objective = objective
        self._solve: _Linear | None = None
        self._promised = np.inf

    def __call__(self, params: FloatArray, *, in_full: bool = True) -> _Point:
        hessian: FloatArray | None = None
        # With two classes the Hessian is next to nothing on top of the gradient.
        separate = isinstance(self.objective, Objective)
        reuse = separate and self._promised <= _NEAR
        if reuse or (separate and not in_full):
            loss, gradient = self.objective.loss_and_gradient(params)
        else:
            at = self.objective.second_order(params)
            loss, gradient, hessian = at.loss, at.gradient, at.hessian

        def newton_step() -> tuple[FloatArray, int]:
            if reuse and self._solve is not None:
                step = self._solve(-gradient)
                promised = -0.5 * float(gradient @ step)
                if promised <= _WORTH_KEEPING * self._promised:
                    self._promised = promised
                    return step, 0
            bent, n_passes = hessian, 0
            if bent is None:
                bent, n_passes = self.objective.second_order(params).hessian, 1
            self._solve = factorised(self.objective, bent)
            step = self._solve(-gradient)
            self._promised = -0.5 * float(gradient @ step)
            return step, n_passes

        return _Point(params, loss, gradient, newton_step)


def factorised(objective: _Convex, hessian: FloatArray) -> _Linear:
    """Function that solves with the Hessian, scaled to a unit diagonal and damped if it must be."""
    hessian = hessian.copy()
    for shift in objective.unpenalised_shifts():
        # The gradient has no part along a shift. Giving the direction some curvature of its own
        # makes the Hessian regular and the step free of shifts, and changes nothing else.
        block = np.ix_(shift, shift)
        hessian[block] += max(float(hessian[shift, shift].mean()), 1.0) / len(shift)
    # Where a probability has underflown a direction is dead: no curvature, no step.
    curvatures = hessian.diagonal()
    scale = np.sqrt(np.maximum(curvatures, _DEAD * curvatures.max()))
    scaled = hessian / scale / scale[:, None]
    damping = _DAMPING
    while True:
        try:
            factor = cho_factor(scaled + damping * np.eye(len(scale)), check_finite=False)
        except np.linalg.LinAlgError:
            damping = max(10.0 * damping, 1e-14 * len(scale))
        else:
            break
    return lambda right: np.asarray(cho_solve(factor, right / scale, check_finite=False)) / scale


class _StepsByProducts:
    """Looks at a point without forming its Hessian, in single precision where that will do."""

    def __init__(self, objective: Objective, tol: float) -> None:
        self.objective = objective
        self._negligible = tol
        self._precision: type[np.floating[Any]] = np.float32
        self._precondition: Preconditioner | None = None
        self._promised = np.inf

    def __call__(self, params: FloatArray, *, in_full: bool = True) -> _Point:
        del in_full
        model = self.objective.local_model(params, self._precision)
        return _Point(params, model.loss, model.gradient, lambda: self._newton_step(model))

    def _newton_step(self, model: LocalModel) -> tuple[FloatArray, int]:
        n_passes = 0
        if self._precondition is None:
            n_passes += 1
            if self._precision is np.float32 and model.sketch.least_doubt() < _DOUBT_IN_SINGLE:
                self._precision = np.float64
                model = self.objective.local_model(model.params)
                n_passes += 2
            self._precondition = model.preconditioner()
        step, n_products = _conjugate_gradients(
            model.product, self._precondition, model.gradient, self._negligible
        )
        promised = -0.5 * float(model.gradient @ step)
        if promised > min(_NEAR, _WORTH_KEEPING * self._promised):
            self._precondition = None
        self._promised = promised
        if n_products > _QUICK:
            self._negligible = 0.0
        if n_products > _PRODUCTS_IN_SINGLE:
            self._precision = np.float64
        return step, n_products + n_passes


def _conjugate_gradients(
    product: _Linear, precondition: _Linear, gradient: FloatArray, negligible: float
) -> tuple[FloatArray, int]:
    """Approximate Newton step by preconditioned conjugate gradients, and the products it took.

    Stops when the residual has fallen by a factor that tightens with the gradient, which keeps
    the outer convergence superlinear, or by ten and below what is ``negligible``.
    """
    step = np.zeros_like(gradient)
    residual = -gradient
    solved = precondition(residual)
    direction = solved
    size = first = max(float(residual @ solved), 0.0)
    enough = max(min(0.01, first**0.5) * first, 0.01 * min(negligible, first))
    n_products = 0
    limit = max(50, min(500, len(gradient)))
    while size > enough and n_products < limit:
        curved = product(direction)
        n_products += 1
        curvature = float(direction @ curved)
        # Preconditioned curvatures are about one: far less is a direction without any.
        if curvature <= _NO_CURVATURE * size:
            break
        length = size / curvature
        step = step + length * direction
        residual = residual - length * curved
        solved = precondition(residual)
        size, previous = float(residual @ solved), size
        direction = solved + (size / previous) * direction
    return step, n_products
