"""The floor of probabilities, learned from the fitting rows.

The logarithm of a probability near zero is a bet of unlimited size on something that was counted
or rounded. How far down the values can be taken at their word is a question to the data: the floor
is the smallest on a grid with which the temperature map is not really worse than with the best.

Values above zero are believed unless the gain of lifting them is two standard errors. Exact zeros
cannot be believed, since they have no logarithm; there one standard error decides. And rows in
which zero was never the true class cannot tell "rare" from "impossible": so one more row is
imagined, in which a wrong class has probability one. It is the rule of succession, applied to the
event that zero was wrong.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dircal._core.data.chunks import Rows
from dircal._core.data.simplex import TINY
from dircal._core.optim.newton import Status
from dircal._core.optim.temperature import fit_temperature
from dircal._core.stats.paired import paired_difference
from dircal._typing import SmallFloatArray

__all__ = ["FLOORS", "LearnedFloor", "learn_floor"]

FLOORS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, TINY)
"""Candidates, from the largest down to the paper's value; finer where counts put their zeros."""
_COARSE = (1e-2, 1e-4, 1e-9, TINY)

# A gain is real when it exceeds so many standard errors of the paired difference ...
_STANDARD_ERRORS = 2.0
_STANDARD_ERRORS_WITH_ZEROS = 1.0
# ... and this many nats.
_SMALLEST_GAIN = 1e-3
# The slope of a candidate is good enough when a Newton step promises less than this part of the
# loss: the promise itself is counted, so the error is of third order.
_SLOPE_TOLERANCE = 1e-2
# After so many candidates in a row that are really worse, smaller ones are not tried.
_PATIENCE = 2


@dataclass(frozen=True)
class LearnedFloor:
    """The chosen floor, the slope of the temperature map with it, and the passes spent."""

    floor: float
    slope: float
    n_passes: int


@dataclass(frozen=True)
class _Candidate:
    """A floor, the slope of its temperature map, its mean loss, and the loss of each row."""

    floor: float
    slope: float
    loss: float
    row_losses: SmallFloatArray
    n_passes: int


def learn_floor(rows: Rows, *, max_iter: int) -> LearnedFloor:
    """The smallest floor that is not really worse than the best.

    A few candidates far apart come first. Where the smallest of all will not do, those around the
    choice are looked at.
    """
    grid = _Grid(rows, max_iter)
    best, chosen, n_passes = grid.choose(_COARSE)
    if chosen.floor == TINY:
        return LearnedFloor(chosen.floor, chosen.slope, n_passes)
    above = [floor for floor in _COARSE if floor > best.floor]
    below = [floor for floor in _COARSE if floor < chosen.floor]
    around = [floor for floor in FLOORS if below[0] < floor < min([*above, 1.0])]
    _, chosen, more_passes = grid.choose(around)
    return LearnedFloor(chosen.floor, chosen.slope, n_passes + more_passes)


class _Grid:
    """The temperature maps of the same rows with different floors."""

    def __init__(self, rows: Rows, max_iter: int) -> None:
        # Floors are told apart by more than a thousandth: single precision is enough.
        self.rows = rows.in_single()
        self.max_iter = max_iter
        self.lowest, _ = rows.source.span
        # Scores of exact zeros stand at the logarithm of TINY.
        has_zeros = self.lowest <= np.log(TINY)
        self.n_errors = _STANDARD_ERRORS_WITH_ZEROS if has_zeros else _STANDARD_ERRORS
        # Weights that are shares of one stand for as many rows as there are.
        self.n = max(rows.total_weight, sum(len(chunk.labels) for chunk in rows))
        self.imagined = 1.0 / (self.n + 1.0) if has_zeros else 0.0
        self.few_rows = self.rows.thinned()

    def choose(self, floors: Sequence[float]) -> tuple[_Candidate, _Candidate, int]:
        """The best of the floors, the smallest that is not really worse, and the passes spent."""
        walk = self._walk_down(floors)
        best = chosen = next(walk)
        n_passes, n_worse = best.n_passes, 0
        for candidate in walk:
            n_passes += candidate.n_passes
            if candidate.loss <= best.loss:
                best = chosen = candidate
                n_worse = 0
            elif not self._is_really_worse(candidate, best):
                chosen, n_worse = candidate, 0
            elif (n_worse := n_worse + 1) == _PATIENCE:
                break
        return best, chosen, n_passes

    def _is_really_worse(self, candidate: _Candidate, best: _Candidate) -> bool:
        difference = candidate.row_losses - best.row_losses
        error = paired_difference(difference, self.rows.shares(), self.n)
        allowed = max(self.n_errors * error.standard_error, _SMALLEST_GAIN)
        return candidate.loss - best.loss > allowed

    def _walk_down(self, floors: Sequence[float]) -> Iterator[_Candidate]:
        """Candidates from the largest floor down, each started from where the last ones point."""
        k = self.rows.n_classes
        start, slope, loss = None, None, float(np.log(k))
        guess: float | None = None
        # A floor above 1/k would lift what is said to be unlikely above what is known of nothing.
        for floor in (floor for floor in floors if floor * k <= 1.0 or floor == floors[-1]):
            tol = _SLOPE_TOLERANCE * max(loss, _SMALLEST_GAIN)
            guess = self._guess(floor, tol, guess)
            fit = fit_temperature(
                self.rows.with_floor(floor),
                tol=tol,
                max_iter=self.max_iter,
                start=start if guess is None else guess,
            )
            loss = (1.0 - self.imagined) * fit.solution.loss
            loss += self.imagined * _loss_of_wrong_certainty(floor, fit.slope, k)
            # Where nothing lies below, all smaller floors are this map, and bear one name.
            last = np.log(floor) <= self.lowest
            name = TINY if last else floor
            yield _Candidate(name, fit.slope, loss, fit.row_losses, fit.solution.n_passes)
            if last:
                return
            endless = fit.solution.status is Status.AT_INFINITY
            start = fit.slope if slope is None or endless else fit.slope**2 / slope
            slope = fit.slope

    def _guess(self, floor: float, tol: float, start: float | None) -> float | None:
        """The slope of some of the rows; None where they are too few to have one."""
        if self.few_rows is None:
            return None
        fit = fit_temperature(
            self.few_rows.with_floor(floor),
            tol=tol,
            max_iter=self.max_iter,
            start=start,
        )
        return fit.slope if fit.solution.status is Status.CONVERGED else None


def _loss_of_wrong_certainty(floor: float, slope: float, n_classes: int) -> float:
    """Loss of the temperature map on a row that gives a wrong class probability one."""
    down = slope * np.log(floor)
    return float(np.log1p((n_classes - 1) * np.exp(down)) - down)
