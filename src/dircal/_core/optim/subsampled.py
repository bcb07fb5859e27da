"""Newton steps whose Hessian is that of a subsample, for rows that are expensive to read.

The Hessian costs many times the gradient, and hardly changes from one row in four to all rows. So
each step reads all rows once, for the value and the gradient, and solves with the Hessian of the
subsample (subsampled Newton; Byrd et al., 2011). What is wrong with it in the directions that were
taken shows in the gradients, and is put right as in L-BFGS (Nocedal & Wright, section 7.2): its
first matrix is the inverse Hessian of the subsample.

The start is the optimum of the subsample. With p parameters and m rows picked, its mean loss is
above the best by about p / (2 m), and each step multiplies what is left by about p / m or less.
"""

from dataclasses import replace

import numpy as np

from dircal._core.model.objective import Objective
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.newton import Solution, Status, forms_hessian, minimise, with_history
from dircal._core.optim.recession import SeparationTest
from dircal._core.optim.steps import (
    Linear,
    NewtonStep,
    Point,
    conjugate_gradients,
    factorise,
    hessian_product,
    loses_digits,
    preconditioner_at,
)
from dircal._typing import FloatArray

__all__ = ["SubsampledNewton", "minimise_with_subsample", "rough_tolerance"]


def rough_tolerance(few: Objective) -> float:
    """How close to its best the objective of a subsample has to be to be a start for all rows."""
    return OPTIM_LIMITS.get().subsample_tol * few.n_params / few.likelihood.rows.n_samples


def minimise_with_subsample(
    objective: Objective,
    few: Objective,
    start: FloatArray,
    *,
    tol: float,
    max_iter: int,
    separation: SeparationTest | None = None,
) -> Solution:
    """Minimise ``objective`` from ``start``, near the optimum of ``few``, with the Hessian of that.

    Where this is slow, because the subsample misleads, the last steps are made with all rows.
    """
    n_first = min(max_iter, OPTIM_LIMITS.get().max_subsampled_steps)
    steps = SubsampledNewton(objective, few)
    first = minimise(
        objective, start, tol=tol, max_iter=n_first, steps=steps, separation=separation
    )
    if first.status in (Status.CONVERGED, Status.SEPARATED) or first.n_iter >= max_iter:
        return first
    found = minimise(
        objective, first.params, tol=tol, max_iter=max_iter - first.n_iter, separation=separation
    )
    later = [replace(each, n_passes=each.n_passes + first.n_passes) for each in found.history]
    found = replace(found, n_passes=found.n_passes + first.n_passes, history=later)
    return with_history(found, first.history)


class SubsampledNewton:
    """Steps for ``objective`` with the Hessian of ``few``, the same for some of the rows."""

    def __init__(self, objective: Objective, few: Objective) -> None:
        self.objective = objective
        self.few = few
        self._sampling = objective.n_params / few.likelihood.rows.n_samples
        self._solve: Linear | None = None
        self._last: Point | None = None
        self._predicted = np.inf
        self._pairs: list[tuple[FloatArray, FloatArray]] = []

    def evaluate(self, params: FloatArray, *, with_hessian: bool = True) -> Point:
        """Value and gradient, in one pass."""
        del with_hessian
        return Point(params, self.objective.evaluate(params))

    def newton_step(self, point: Point) -> NewtonStep:
        """The step by the Hessian of the subsample, put right by the gradients until here."""
        self._remember(point)
        if self._solve is None or self._predicted > OPTIM_LIMITS.get().max_reuse_decrease:
            self._solve = self._solver_at(point.params)
        gradient = point.at.gradient
        step = -_put_right(self._pairs, self._solve, gradient)
        predicted = -0.5 * float(gradient @ step)
        rate = max(predicted / self._predicted, self._sampling)
        self._predicted = predicted
        return NewtonStep(step, predicted, 0, predicted * rate)

    def _remember(self, point: Point) -> None:
        """The change of the gradient along the last step, which is the Hessian times that step."""
        if self._last is not None:
            step = point.params - self._last.params
            change = point.at.gradient - self._last.at.gradient
            if float(step @ change) > 0.0:
                self._pairs.append((step, change))
        self._last = point

    def _solver_at(self, params: FloatArray) -> Linear:
        """Function that solves with the Hessian of the subsample."""
        few = self.few
        if forms_hessian(few.n_params):
            hessian = few.evaluate_with_hessian(params).hessian
            assert hessian is not None
            return factorise(few, hessian)
        model = few.linearise(params, np.float32)
        if loses_digits(model):
            model = few.linearise(params, np.float64)
        product, inverse = hessian_product(few, model), preconditioner_at(few, model)
        return lambda right: conjugate_gradients(product, inverse, -right, _enough)[0]


def _enough(first: float) -> float:
    return OPTIM_LIMITS.get().subsample_residual * first


def _put_right(
    pairs: list[tuple[FloatArray, FloatArray]],
    solve: Linear,
    gradient: FloatArray,
) -> FloatArray:
    """The two loops of L-BFGS: the inverse of a Hessian that agrees with all pairs, times a vector.

    ``solve`` stands in for the inverse in all directions that the pairs say nothing about.
    """
    vector, lengths = gradient.copy(), []
    for step, change in reversed(pairs):
        length = float(step @ vector) / float(step @ change)
        vector -= length * change
        lengths.append(length)
    result = solve(vector)
    for (step, change), length in zip(pairs, reversed(lengths), strict=True):
        result = result + (length - float(change @ result) / float(step @ change)) * step
    return result
