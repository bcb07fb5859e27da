"""Two ways to a Newton step: Cholesky, and conjugate gradients.

Both reuse what is expensive near the optimum, where the Hessian hardly changes: the factorisation
or the preconditioner of a point before, for as long as predicted decreases fall fast.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dircal._core.model.objective import Evaluation, Linearisation
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.precondition import Preconditioner, SharedPreconditioner, precondition
from dircal._typing import FloatArray, IntArray

__all__ = [
    "ConvexObjective",
    "Linear",
    "LinearisedObjective",
    "NewtonCG",
    "NewtonCholesky",
    "NewtonStep",
    "NewtonSteps",
    "Point",
    "conjugate_gradients",
    "factorise",
    "hessian_product",
    "loses_digits",
    "preconditioner_at",
]


Linear = Callable[[FloatArray], FloatArray]
"""Multiplies vectors (p,) with a matrix."""


@dataclass(frozen=True)
class Point:
    """A point on the way: parameters (p,), what the objective is there, and products around it."""

    params: FloatArray
    at: Evaluation
    model: Linearisation | None = None


@dataclass(frozen=True)
class NewtonStep:
    """A step (p,), the decrease that a quadratic model predicts of it, and the passes it took.

    ``decrease_after`` is that of the step after it, as far as the rate of convergence foretells it.
    """

    step: FloatArray
    predicted_decrease: float
    n_passes: int
    decrease_after: float = np.inf


class ConvexObjective(Protocol):
    """What the loop needs to know of an objective."""

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights: the number of rows that the mean is over."""

    @property
    def hessian_is_cheap(self) -> bool:
        """Whether it costs next to nothing on top of the gradient."""

    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and gradient (p,)."""

    def evaluate_with_hessian(self, params: FloatArray) -> Evaluation:
        """Value, gradient (p,) and Hessian (p, p)."""

    def null_directions(self) -> list[IntArray]:
        """Index sets along which a common shift changes nothing."""

    def max_logit_change(self, step: FloatArray) -> float:
        """Largest change that adding ``step`` to the parameters makes to a centred logit."""


@runtime_checkable
class LinearisedObjective(ConvexObjective, Protocol):
    """An objective that also offers products with its Hessian."""

    @property
    def penalty_hessian(self) -> FloatArray:
        """Diagonal (p,) of the Hessian of the penalty."""

    def linearise(self, params: FloatArray, dtype: type[np.floating[Any]]) -> Linearisation:
        """Value and gradient (p,), and the likelihood around them."""


class NewtonSteps(Protocol):
    """A way to Newton steps."""

    def evaluate(self, params: FloatArray, *, with_hessian: bool = True) -> Point:
        """The objective at ``params``."""

    def newton_step(self, point: Point) -> NewtonStep:
        """The step from a point."""


class NewtonCholesky:
    """Newton steps from the whole Hessian, or near the optimum from that of a point before.

    ``hessian`` is one from elsewhere to begin with, such as that of the penalty before on a path.
    """

    def __init__(self, objective: ConvexObjective, hessian: FloatArray | None = None) -> None:
        self.objective = objective
        self._solve = None if hessian is None else factorise(objective, hessian)
        self._predicted = np.inf
        self._trusted = hessian is not None

    def evaluate(self, params: FloatArray, *, with_hessian: bool = True) -> Point:
        """With the Hessian, unless an old one may do."""
        may_wait = self._may_reuse() or not with_hessian
        if may_wait and not self.objective.hessian_is_cheap:
            return Point(params, self.objective.evaluate(params))
        return Point(params, self.objective.evaluate_with_hessian(params))

    def newton_step(self, point: Point) -> NewtonStep:
        """Solve with the Hessian."""
        gradient, hessian, n_passes = point.at.gradient, point.at.hessian, 0
        if hessian is None and self._solve is not None and self._may_reuse():
            step = self._solve(-gradient)
            predicted = -0.5 * float(gradient @ step)
            if predicted <= OPTIM_LIMITS.get().max_reuse_ratio * self._predicted:
                self._predicted = predicted
                return NewtonStep(step, predicted, 0)
        if hessian is None:
            hessian, n_passes = self.objective.evaluate_with_hessian(point.params).hessian, 1
            assert hessian is not None
        self._solve = factorise(self.objective, hessian)
        step = self._solve(-gradient)
        self._predicted = -0.5 * float(gradient @ step)
        return NewtonStep(step, self._predicted, n_passes)

    def _may_reuse(self) -> bool:
        return self._trusted or self._predicted <= OPTIM_LIMITS.get().near_decrease


def factorise(objective: ConvexObjective, hessian: FloatArray) -> Linear:
    """Function that solves with the Hessian, scaled to a unit diagonal and damped if it must be."""
    limits = OPTIM_LIMITS.get()
    hessian = hessian.copy()
    for shift in objective.null_directions():
        # The gradient has no part along a null direction. Giving it some curvature of its own
        # makes the Hessian regular and the step free of shifts, and changes nothing else.
        block = np.ix_(shift, shift)
        hessian[block] += max(float(hessian[shift, shift].mean()), 1.0) / len(shift)
    curvatures = hessian.diagonal()
    scale = np.sqrt(np.maximum(curvatures, limits.min_curvature_ratio * curvatures.max()))
    scaled = hessian / scale / scale[:, None]
    damping = limits.damping
    while True:
        try:
            factor = cho_factor(scaled + damping * np.eye(len(scale)), check_finite=False)
        except np.linalg.LinAlgError:
            damping = max(10.0 * damping, 1e-14 * len(scale))
        else:
            break
    return lambda right: np.asarray(cho_solve(factor, right / scale, check_finite=False)) / scale


class NewtonCG:
    """Truncated Newton steps without a Hessian, in single precision where that will do.

    Nocedal & Wright, section 7.1. ``tol`` is the decrease that may be neglected. ``before`` are the
    steps of the penalty before on a path, whose preconditioner serves for a while.
    """

    def __init__(
        self, objective: LinearisedObjective, tol: float, before: "NewtonCG | None" = None
    ) -> None:
        self.objective = objective
        self._negligible = tol
        self._dtype: type[np.floating[Any]] = np.float32 if before is None else before._dtype
        self._precondition: Preconditioner | SharedPreconditioner | None = None
        if before is not None:
            self._precondition = before._precondition
        self._predicted = np.inf

    def evaluate(self, params: FloatArray, *, with_hessian: bool = True) -> Point:
        """With what products around the point need."""
        del with_hessian
        model = self.objective.linearise(params, self._dtype)
        return Point(params, model.at, model)

    def newton_step(self, point: Point) -> NewtonStep:
        """Preconditioned conjugate gradients on the Newton system."""
        limits = OPTIM_LIMITS.get()
        model, n_passes = point.model, 0
        assert model is not None
        if self._precondition is None:
            n_passes += 1
            if self._dtype is np.float32 and loses_digits(model):
                self._dtype = np.float64
                model = self.objective.linearise(point.params, np.float64)
                n_passes += 2
            self._precondition = preconditioner_at(self.objective, model)
        gradient = point.at.gradient
        product = hessian_product(self.objective, model)
        step, n_products = conjugate_gradients(product, self._precondition, gradient, self._enough)
        predicted = -0.5 * float(gradient @ step)
        if predicted > min(limits.near_decrease, limits.max_reuse_ratio * self._predicted):
            self._precondition = None
        self._predicted = predicted
        if n_products > limits.max_flat_products:
            self._negligible = 0.0
        if n_products > limits.max_float32_products:
            self._dtype = np.float64
        return NewtonStep(step, predicted, n_products + n_passes)

    def _enough(self, first: float) -> float:
        """A residual that tightens with the gradient, which keeps the convergence superlinear.

        Or one that has fallen by ten and below what is negligible.
        """
        return max(min(0.01, float(first**0.5)) * first, 0.01 * min(self._negligible, first))


def loses_digits(model: Linearisation) -> bool:
    """Whether a class is so certain everywhere that single precision loses 1 - p."""
    return model.moments.least_bernoulli_variance() < OPTIM_LIMITS.get().min_float32_variance


def preconditioner_at(
    objective: LinearisedObjective, model: Linearisation
) -> Preconditioner | SharedPreconditioner:
    """That of the Hessian of an objective around a point."""
    param_class = model.likelihood.structure.param_class
    return precondition(model.moments, param_class, objective.penalty_hessian)


def hessian_product(objective: LinearisedObjective, model: Linearisation) -> Linear:
    """Function that multiplies with the Hessian of an objective around a point."""
    diagonal = objective.penalty_hessian
    return lambda vector: model.product(vector) + diagonal * vector


def conjugate_gradients(
    product: Linear, precondition: Linear, gradient: FloatArray, enough: Callable[[float], float]
) -> tuple[FloatArray, int]:
    """Approximate Newton step by preconditioned conjugate gradients, and the products it took.

    Stops when the residual, in the norm of the preconditioner, is at most what is ``enough`` for
    the first one.
    """
    step = np.zeros_like(gradient)
    residual = -gradient
    solved = precondition(residual)
    direction = solved
    size = first = max(float(residual @ solved), 0.0)
    target = enough(first)
    n_products = 0
    limit = max(50, min(500, len(gradient)))
    while size > target and n_products < limit:
        curved = product(direction)
        n_products += 1
        curvature = float(direction @ curved)
        if curvature <= OPTIM_LIMITS.get().no_curvature * size:
            break
        length = size / curvature
        step = step + length * direction
        residual = residual - length * curved
        solved = precondition(residual)
        size, previous = float(residual @ solved), size
        direction = solved + (size / previous) * direction
    return step, n_products
