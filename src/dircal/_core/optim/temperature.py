"""The temperature map: one slope, found by a safeguarded Newton method on its logarithm."""

from dataclasses import dataclass

import numpy as np

from dircal._core.data.chunks import Rows
from dircal._core.model.logistic import LogisticObjective, log_odds
from dircal._core.model.objective import Objective, SecondOrder
from dircal._core.model.penalty import no_penalty
from dircal._core.model.structure import Scalar
from dircal._core.optim.newton import Solution, Status
from dircal._core.optim.separation import solve
from dircal._typing import SmallFloatArray

__all__ = ["TemperatureFit", "definite_temperature", "fit_temperature"]

# No step multiplies or divides the slope by more than this.
_LARGEST_FACTOR = 8.0
# Moves in one direction after which a slope that nothing bounds on that side is helped along.
_PATIENCE = 4
# Gradients below this part of the largest score are rounding errors, in either precision.
_ROUNDING = {np.float64: 1e-13, np.float32: 5e-7}
# The slope that stands for zero, in units of the inverse spread of the scores.
_ZERO_SLOPE = 1e-6


@dataclass(frozen=True)
class TemperatureFit:
    """The best slope 1/t as a solution, and the loss of each row at the last point looked at.

    With ``every_row_right`` the best slope is infinite, and not zero: larger ones are always
    better.
    """

    solution: Solution
    row_losses: SmallFloatArray
    every_row_right: bool = False

    @property
    def slope(self) -> float:
        """Slope 1/t."""
        return float(self.solution.params[0])


def fit_temperature(
    rows: Rows, *, tol: float, max_iter: int, start: float | None = None
) -> TemperatureFit:
    """Slope 1/t > 0 of the temperature map with the smallest mean loss.

    Without ``start`` the first guess is the Newton step from slope zero, which makes the method
    blind to the scale of the scores.
    """
    objective = _slope_objective(rows)
    noise = _ROUNDING[rows.precision] * rows.largest
    zero = objective.second_order(np.zeros(1)) if start is None else None
    if zero is not None:
        if _is_flat(zero, noise):
            return _stay(zero, 1.0, 1)
        if zero.gradient[0] >= 0.0:
            return _stay_at_zero(zero, 1)
        start = float(-zero.gradient[0] / zero.hessian[0, 0])
    assert start is not None
    return _search(objective, start, 0 if zero is None else 1, noise, tol, max_iter)


def definite_temperature(rows: Rows, *, tol: float, max_iter: int, start: float) -> Solution:
    """The best temperature map, or that which a trace of a penalty holds where it is endless."""
    fit = fit_temperature(rows, tol=tol, max_iter=max_iter, start=start)
    if not fit.every_row_right:
        return fit.solution
    k = rows.n_classes
    objective = Objective(rows, Scalar(k), no_penalty(k))
    return solve(objective, np.array([start]), every_row_right=True, tol=tol, max_iter=max_iter)


def _slope_objective(rows: Rows) -> Objective | LogisticObjective:
    """The mean loss as a function of the slope; two classes need only their difference."""
    k = rows.n_classes
    if k == 2:
        return LogisticObjective(rows, log_odds)
    return Objective(rows, Scalar(k), no_penalty(k))


def _is_flat(at: SecondOrder, noise: float) -> bool:
    """Whether rows are uniform but for rounding: then no slope changes anything.

    Rows that are all right beyond doubt have no gradient either, but next to no loss.
    """
    small = abs(at.gradient[0]) <= noise and at.hessian[0, 0] <= noise**2
    return bool(small and at.loss > 0.5)


def _stay(at: SecondOrder, slope: float, n_passes: int) -> TemperatureFit:
    """The fit where no slope is better than the given one."""
    solution = Solution(np.array([slope]), at.loss, 0, n_passes, Status.CONVERGED)
    return TemperatureFit(solution, at.row_losses)


def _stay_at_zero(zero: SecondOrder, n_passes: int) -> TemperatureFit:
    """The fit where no positive slope is better than zero: the loss is convex and rises."""
    slope = _ZERO_SLOPE / np.sqrt(zero.hessian[0, 0])
    solution = Solution(np.array([slope]), zero.loss, 0, n_passes, Status.AT_INFINITY)
    return TemperatureFit(solution, zero.row_losses)


def _search(
    objective: Objective | LogisticObjective,
    slope: float,
    n_passes: int,
    noise: float,
    tol: float,
    max_iter: int,
) -> TemperatureFit:
    low, high = 0.0, np.inf
    n_up = n_down = 0
    previous = np.inf
    for n_iter in range(1, max_iter + 1):
        at = objective.second_order(np.array([slope]))
        n_passes += 1
        if _is_flat(at, noise):
            return _stay(at, slope, n_passes)
        gradient, curvature = at.gradient[0], at.hessian[0, 0]
        promised = 0.5 * gradient**2 / curvature if curvature > 0.0 else abs(gradient)
        factor = _newton_factor(gradient, curvature, slope)
        if promised <= tol:
            # Every row right: a larger slope is always better, and none is best.
            endless = bool(at.row_losses.max() < np.log(2.0))
            status = Status.AT_INFINITY if endless else Status.CONVERGED
            params = np.array([slope if endless else slope * factor])
            found = Solution(params, at.loss - promised, n_iter, n_passes, status)
            return TemperatureFit(found, at.row_losses, endless)
        if gradient < 0.0:
            low, n_up = slope, n_up + 1
            # Down an exponential tail Newton's steps hardly shorten, near an optimum they do.
            if n_up > _PATIENCE and high == np.inf and np.log(factor) > 0.5 * np.log(previous):
                factor = max(factor, 2.0)
            previous = factor
        else:
            high, n_down = slope, n_down + 1
            if n_down == _PATIENCE and low == 0.0:
                zero = objective.second_order(np.zeros(1))
                n_passes += 1
                if zero.gradient[0] >= 0.0:
                    return _stay_at_zero(zero, n_passes)
        slope *= factor
        if not low < slope < high:
            slope = np.sqrt(low * high) if low > 0.0 else 0.5 * high
    unfinished = Solution(np.array([slope]), at.loss, max_iter, n_passes, Status.ITERATION_LIMIT)
    return TemperatureFit(unfinished, at.row_losses)


def _newton_factor(gradient: float, curvature: float, slope: float) -> float:
    """Factor that a Newton step on ln(slope) applies, within bounds."""
    first = slope * gradient
    second = first + slope**2 * curvature
    largest = np.log(_LARGEST_FACTOR)
    move = -first / second if second > 0.0 else -np.sign(first) * largest
    return float(np.exp(np.clip(move, -largest, largest)))
