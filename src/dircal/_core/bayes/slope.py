r"""The slope of the temperature map with a prior of its own.

With few rows, or a classifier that is right on all of them, the slope of largest likelihood is a
guess or infinite. A priori the logarithm u of a slope has a logistic distribution around zero whose
quartiles are a factor of two away,

.. math:: \pi(u) = \frac{1}{4c} \cosh^{-2}\!\left(\frac{u}{2c}\right), \qquad
    c = \frac{\ln 2}{\ln 3}:

every second classifier has a temperature between 1/2 and 2. Its tails are exponential, so that it
never pulls by more than 1/c nats a unit of u, and some dozens of rows overrule it.
"""

from dataclasses import dataclass

import numpy as np

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Evaluation
from dircal._core.optim.newton import minimise
from dircal._core.optim.steps import NewtonStep, Point
from dircal._core.optim.temperature import AbstractSlopeObjective, SlopeLoss
from dircal._typing import FloatArray

__all__ = ["ProbableSlope", "log_slope_prior", "most_probable_slope"]


@dataclass(frozen=True)
class ProbableSlope:
    """The most probable slope, and what not knowing it costs.

    ``log_occam_factor`` is the logarithm of the likelihood averaged over the prior of slopes, by
    Laplace's approximation, less that of the likelihood at the slope.
    """

    slope: float
    log_occam_factor: float


def log_slope_prior(log_slope: float) -> float:
    """Logarithm of the density of the logarithm of a slope."""
    limits = BAYES_LIMITS.get()
    # ln cosh of large numbers, without the cosh.
    size = abs(log_slope) / (2.0 * limits.slope_scale)
    log_cosh = size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)
    return float(-2.0 * log_cosh - np.log(4.0 * limits.slope_scale))


def most_probable_slope(rows: Rows, *, start: float, tol: float, max_iter: int) -> ProbableSlope:
    """The slope of largest likelihood times prior, from one near that of largest likelihood."""
    objective = _LogSlopeObjective(SlopeLoss.of(rows), rows.total_weight)
    found = minimise(
        objective,
        np.array([np.log(start)]),
        tol=tol,
        max_iter=max_iter,
        steps=_BoundedSteps(objective),
    )
    log_slope, n = float(found.params[0]), rows.total_weight
    at = objective.evaluate(found.params)
    assert at.hessian is not None
    # The prior alone has this curvature at its centre, and rows that tell nothing have none.
    curvature = max(n * float(at.hessian[0, 0]), float(np.finfo(np.float64).eps))
    width = 0.5 * float(np.log(2.0 * np.pi / curvature))
    return ProbableSlope(float(np.exp(log_slope)), log_slope_prior(log_slope) + width)


@dataclass(frozen=True)
class _LogSlopeObjective(AbstractSlopeObjective):
    """Mean loss less the logarithm of the prior over n, as a function of u = ln s.

    With f the loss as a function of s, its derivatives in u are s f' and s f' + s^2 f''.
    """

    loss: SlopeLoss
    total_weight: float

    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and both derivatives."""
        limits = BAYES_LIMITS.get()
        u, n = float(params[0]), self.total_weight
        slope = float(np.exp(u))
        at = self.loss.evaluate(np.array([slope]))
        assert at.hessian is not None
        pull = float(np.tanh(u / (2.0 * limits.slope_scale)))
        first = slope * float(at.gradient[0])
        second = first + slope**2 * float(at.hessian[0, 0])
        return Evaluation(
            at.loss - log_slope_prior(u) / n,
            np.array([first + pull / (limits.slope_scale * n)]),
            at.largest_row_loss,
            np.array([[second + (1.0 - pull**2) / (2.0 * limits.slope_scale**2 * n)]]),
        )


@dataclass(frozen=True)
class _BoundedSteps:
    """Newton steps of one parameter that are never long, nor uphill where nothing is convex."""

    objective: _LogSlopeObjective

    def evaluate(self, params: FloatArray, *, with_hessian: bool = True) -> Point:
        """Value and both derivatives."""
        del with_hessian
        return Point(params, self.objective.evaluate(params))

    def newton_step(self, point: Point) -> NewtonStep:
        """The step within bounds."""
        limits = BAYES_LIMITS.get()
        assert point.at.hessian is not None
        first, second = float(point.at.gradient[0]), float(point.at.hessian[0, 0])
        if second <= 0.0:
            step = -float(np.sign(first)) * limits.max_log_slope_step
            return NewtonStep(np.array([step]), abs(first), 0)
        step = float(
            np.clip(-first / second, -limits.max_log_slope_step, limits.max_log_slope_step)
        )
        return NewtonStep(np.array([step]), 0.5 * first**2 / second, 0)
