"""The floor of probabilities, learned from the fitting rows.

The logarithm of a probability near zero is a bet of unlimited size on something that was counted
or rounded. How far down the values can be taken at their word is a question to the data: the floor
is the smallest on a grid with which the temperature map is not really worse than with the best.
"""

from dataclasses import dataclass

import numpy as np

from dircal.core._paired import paired_difference
from dircal.core._rows import Rows
from dircal.core._simplex import TINY
from dircal.core._temperature import fit_temperature

__all__ = ["FLOORS", "LearnedFloor", "learn_floor"]

FLOORS = (3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-6, 1e-9, 1e-15, TINY)
"""Candidates, from the largest down to the paper's value; finer where counts put their zeros."""

# A gain is real when it exceeds this many standard errors of the paired difference ...
_STANDARD_ERRORS = 2.0
# ... and the accuracy, in nats, to which a candidate's temperature is fitted.
_ACCURACY = 1e-4
# After so many candidates in a row that are really worse, smaller ones are not tried.
_PATIENCE = 2


@dataclass(frozen=True)
class LearnedFloor:
    """The chosen floor, the slope of the temperature map with it, and the passes spent."""

    floor: float
    slope: float
    n_passes: int


def learn_floor(rows: Rows, *, max_iter: int) -> LearnedFloor:
    """Walk down the grid with warm starts; one or two passes a candidate."""
    share = np.concatenate([chunk.weight for chunk in rows])
    lowest = min(float(chunk.scores.min()) for chunk in rows)
    # Scores of exact zeros stand at the logarithm of TINY.
    imagined = 1.0 / (rows.total_weight + 1.0) if lowest <= np.log(TINY) else 0.0
    best_losses, best_loss, chosen = np.empty(0), np.inf, TINY
    slope: float | None = None
    n_passes = n_worse = 0
    for floor in FLOORS:
        fit = fit_temperature(rows.with_floor(floor), tol=_ACCURACY, max_iter=max_iter, start=slope)
        n_passes += fit.solution.n_passes
        loss = (1.0 - imagined) * fit.solution.loss
        loss += imagined * _loss_of_wrong_certainty(floor, fit.slope, rows.n_classes)
        if loss <= best_loss:
            best_losses, best_loss = fit.row_losses, loss
            real = 0.0
        else:
            error = paired_difference(fit.row_losses, best_losses, share, rows.total_weight)
            real = max(_STANDARD_ERRORS * error.standard_error, _ACCURACY)
        if loss - best_loss <= real:
            chosen, slope, n_worse = floor, fit.slope, 0
        else:
            n_worse += 1
        if n_worse == _PATIENCE:
            break
        if np.log(floor) <= lowest:
            # Nothing lies below: the smaller floors are all this map, and bear one name.
            chosen = TINY if chosen == floor else chosen
            break
    assert slope is not None
    return LearnedFloor(chosen, slope, n_passes)


def _loss_of_wrong_certainty(floor: float, slope: float, n_classes: int) -> float:
    """Loss of the temperature map on a row that gives a wrong class probability one."""
    down = slope * np.log(floor)
    return float(np.log1p((n_classes - 1) * np.exp(down)) - down)
