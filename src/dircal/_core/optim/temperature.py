"""The temperature map: one slope, found by Newton's method on its logarithm."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from dircal._core.data.rows import Rows
from dircal._core.model.logistic import LogisticObjective, log_odds
from dircal._core.model.objective import Evaluation, Likelihood, Objective
from dircal._core.model.penalty import no_penalty
from dircal._core.model.structure import Scalar
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.newton import Solution, Status, minimise
from dircal._core.optim.separation import solve
from dircal._core.optim.steps import NewtonStep, Point
from dircal._typing import FloatArray, IntArray

__all__ = [
    "AbstractSlopeObjective",
    "SlopeLoss",
    "TemperatureFit",
    "definite_temperature",
    "fit_temperature",
]

# Gradients below this part of the largest score are rounding errors, in either precision.
_GRADIENT_ROUNDING = {np.float64: 1e-13, np.float32: 5e-7}


@dataclass(frozen=True)
class TemperatureFit:
    """The best slope 1/t as a solution.

    With ``every_row_right`` the best slope is infinite, and not zero: larger ones are always
    better.
    """

    solution: Solution
    every_row_right: bool = False

    @property
    def slope(self) -> float:
        """Slope 1/t."""
        return float(self.solution.params[0])

    @property
    def evaluated_slope(self) -> float:
        """The slope at which rows were read last."""
        return float(self.solution.evaluated.params[0])


def fit_temperature(
    rows: Rows,
    *,
    tol: float,
    max_iter: int,
    start: float | None = None,
    at_start: Evaluation | None = None,
) -> TemperatureFit:
    """Slope 1/t > 0 of the temperature map with the smallest mean loss.

    Without ``start`` the first guess is the Newton step from slope zero, which makes the method
    blind to the scale of the scores. What is known ``at_start`` saves the first pass.
    """
    loss, first = SlopeLoss.of(rows), 0.0 if start is None else start
    n_before = 0
    if at_start is None:
        # Before the largest score is asked for: the first pass brings the survey along.
        at_start, n_before = loss.evaluate(np.array([first])), 1
    noise = _GRADIENT_ROUNDING[rows.dtype] * rows.largest
    if start is None:
        if _is_flat(at_start, noise):
            return TemperatureFit(_ended(at_start, 1.0, 1, Status.CONVERGED))
        if at_start.gradient[0] >= 0.0:
            return TemperatureFit(_at_zero(at_start, 1))
        start = float(-at_start.gradient[0] / _curvature(at_start))
    found = minimise(
        loss,
        np.array([start]),
        tol=tol,
        max_iter=max_iter,
        steps=_LogSlopeSteps(loss, noise, (first, at_start)),
    )
    n_passes = n_before + found.n_passes - (first == start)
    if found.params[0] < OPTIM_LIMITS.get().min_slope_ratio * start:
        zero = loss.evaluate(np.zeros(1))
        n_passes += 1
        if zero.gradient[0] >= 0.0 and not _is_flat(zero, noise):
            return TemperatureFit(_at_zero(zero, n_passes))
    # Every row right: a larger slope is always better, and none is best.
    ended = found.status in (Status.CONVERGED, Status.STALLED)
    every_row_right = ended and found.evaluated.at.largest_row_loss < np.log(2.0)
    status = Status.SEPARATED if every_row_right else found.status
    return TemperatureFit(replace(found, n_passes=n_passes, status=status), every_row_right)


def definite_temperature(rows: Rows, *, tol: float, max_iter: int, start: float) -> Solution:
    """The best temperature map, or that which a ridge holds where every row is right."""
    fit = fit_temperature(rows, tol=tol, max_iter=max_iter, start=start)
    if not fit.every_row_right:
        return fit.solution
    k = rows.n_classes
    objective = Objective(Likelihood(rows, Scalar(k)), no_penalty(k))
    return solve(objective, np.array([start]), every_row_right=True, tol=tol, max_iter=max_iter)


class AbstractSlopeObjective(ABC):
    """An objective of one parameter, the slope or its logarithm, always with both derivatives."""

    hessian_is_cheap = True

    @abstractmethod
    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and both derivatives."""

    def evaluate_with_hessian(self, params: FloatArray) -> Evaluation:
        """The same."""
        return self.evaluate(params)

    def null_directions(self) -> list[IntArray]:
        """A slope changes every probability."""
        return []

    def max_logit_change(self, step: FloatArray) -> float:
        """Steps are bounded by a factor, whatever the scale of the scores is."""
        del step
        return 0.0


@dataclass(frozen=True)
class SlopeLoss(AbstractSlopeObjective):
    """The mean loss as a function of the slope.

    Two classes need only the difference of their scores.
    """

    loss: Likelihood | LogisticObjective
    total_weight: float

    @classmethod
    def of(cls, rows: Rows) -> "SlopeLoss":
        """The loss of these rows."""
        k, n = rows.n_classes, rows.total_weight
        if k == 2:
            return cls(LogisticObjective(rows, log_odds), n)
        return cls(Likelihood(rows, Scalar(k)), n)

    def evaluate(self, params: FloatArray) -> Evaluation:
        """Value and both derivatives."""
        return self.loss.evaluate_with_hessian(params)


@dataclass(frozen=True)
class _LogSlopeSteps:
    """Newton's method on u = ln s, which keeps the slope s positive.

    With f the loss as a function of s, which is convex, the derivatives in u are s f' and
    s f' + s^2 f''. Where the second is not positive the step is as long as steps may be. The
    predicted decrease is that of the convex f: half of f'^2 / f''. Where derivatives are ``noise``
    there is no step. ``known`` is a slope with what is known of it.
    """

    loss: SlopeLoss
    noise: float
    known: tuple[float, Evaluation]

    def evaluate(self, params: FloatArray, *, with_hessian: bool = True) -> Point:
        """Value and both derivatives."""
        del with_hessian
        if self.known[0] == params[0]:
            return Point(params, self.known[1])
        return Point(params, self.loss.evaluate(params))

    def newton_step(self, point: Point) -> NewtonStep:
        """The change of the slope that a Newton step on its logarithm makes, within bounds."""
        if _is_flat(point.at, self.noise):
            return NewtonStep(np.zeros(1), 0.0, 0)
        slope, gradient = float(point.params[0]), float(point.at.gradient[0])
        curvature = _curvature(point.at)
        first = slope * gradient
        second = first + slope**2 * curvature
        largest = np.log(OPTIM_LIMITS.get().max_slope_factor)
        move = -first / second if second > 0.0 else -np.sign(first) * largest
        step = slope * np.expm1(np.clip(move, -largest, largest))
        predicted = 0.5 * gradient**2 / curvature if curvature > 0.0 else abs(gradient)
        return NewtonStep(np.array([step]), predicted, 0)


def _curvature(at: Evaluation) -> float:
    assert at.hessian is not None
    return float(at.hessian[0, 0])


def _is_flat(at: Evaluation, noise: float) -> bool:
    """Whether rows are uniform but for rounding: then no slope changes anything.

    Rows that are all right beyond doubt have no gradient either, but next to no loss. Scores
    that only an enormous slope could make something of are none.
    """
    small = abs(at.gradient[0]) <= noise and _curvature(at) <= noise**2
    return bool((small or _curvature(at) < OPTIM_LIMITS.get().min_score_variance) and at.loss > 0.5)


def _ended(at: Evaluation, slope: float, n_passes: int, status: Status) -> Solution:
    params = np.array([slope])
    return Solution(params, at.loss, 0, n_passes, status, Point(params, at))


def _at_zero(zero: Evaluation, n_passes: int) -> Solution:
    """Where no positive slope is better than zero: the loss is convex and rises."""
    slope = OPTIM_LIMITS.get().zero_slope / float(np.sqrt(_curvature(zero)))
    return _ended(zero, slope, n_passes, Status.SEPARATED)
