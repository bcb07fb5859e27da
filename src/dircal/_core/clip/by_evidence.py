"""The floor of probabilities for a map that is learned by evidence.

A temperature map is easily hurt by a small probability that was wrong; a full map can make up for
that, and read the small ones that were right. So its floor is chosen by its own evidence: the
smallest on a grid for which the rows do not speak clearly less than for the best.
"""

from dataclasses import dataclass

import numpy as np

from dircal._core.bayes.evidence import GroupPrior, evidence_of_one_step, fit_groups
from dircal._core.bayes.mixture import softened
from dircal._core.clip.by_likelihood import FLOORS, LearnedFloor, learn_floor
from dircal._core.data.chunks import Rows
from dircal._core.data.simplex import TINY
from dircal._core.model.penalty import NO_SPREAD
from dircal._core.model.structure import Full
from dircal._core.optim.newton import is_direct
from dircal._core.optim.temperature import fit_temperature
from dircal._typing import FloatArray

__all__ = ["SoftPrior", "Softened", "floor_by_evidence"]

# Below the grid of the temperature map: zeros of single precision, and one between them and ours.
_GRID = (*FLOORS[:-1], float(np.finfo(np.float32).tiny), 1e-100, TINY)
# A lead of so many nats is clear: odds of twenty to one.
_CLEAR = 3.0
_SLOPE_TOLERANCE = 1e-8
_LOOSE = 1e-7
# Scores are not softened to less than this standard deviation in a row.
_LEAST_SPREAD = 1.0


@dataclass(frozen=True)
class Softened:
    """Softened rows, the prior around the temperature map, slope and level of the softening."""

    rows: Rows
    prior: GroupPrior
    slope: float
    level: float


@dataclass(frozen=True)
class SoftPrior:
    """Precisions ``mode`` (3,) of a prior, and whether softened scores are ``normalised``."""

    mode: FloatArray
    normalised: bool

    def around(self, rows: Rows, floor: float, slope: float) -> Softened:
        """Rows softened for a temperature map with a given floor and slope, and their prior.

        The slope of the softening is that of the map, unless it is next to nothing: scores that
        point away from the labels would be wiped out, though a full map can use them.
        """
        if self.normalised:
            soft = softened(rows, floor, slope, normalised=True)
            return Softened(soft, GroupPrior(self.mode, 1.0), slope, 1.0)
        read = max(slope, _least_slope(rows.with_floor(floor)))
        level = _level(softened(rows, floor, read, normalised=False))
        soft = softened(rows, floor, read, normalised=False, level=level)
        return Softened(soft, GroupPrior(self.mode, slope / read), read, level)


def _least_slope(rows: Rows) -> float:
    """The slope that gives the scores of a row the least spread; zero if they have none."""
    variance = sum(float(chunk.weight @ chunk.scores.var(axis=0)) for chunk in rows)
    if variance <= NO_SPREAD * max(rows.largest, 1.0) ** 2:
        return 0.0
    return _LEAST_SPREAD / float(np.sqrt(variance))


def _level(rows: Rows) -> float:
    """The part that makes the means of rows no larger than the spread around them.

    With many classes nearly all log-probabilities are far below zero, and the mean of a row is by
    far the largest thing about it. Off-diagonal entries that the prior takes for independent would
    move a logit mostly by that mean.
    """
    common = spread = 0.0
    for chunk in rows:
        common += float(chunk.weight @ chunk.scores.mean(axis=0) ** 2)
        spread += float(chunk.weight @ chunk.scores.var(axis=0))
    return float(np.sqrt(spread / common)) if spread < common else 1.0


def floor_by_evidence(rows: Rows, prior: SoftPrior, *, max_iter: int) -> LearnedFloor:
    """The smallest floor whose evidence is not clearly below the best.

    Candidates are compared by a step from the temperature map. One that would not be the smallest
    is confirmed by the evidence of whole fits. Where the Hessian is too large to be formed, the
    floor is that of the temperature map.
    """
    k = rows.n_classes
    if not is_direct(Full(k, k)):
        return learn_floor(rows, max_iter=max_iter)
    lowest, _ = rows.source.span
    found: list[tuple[LearnedFloor, float]] = []
    slope = None
    for floor in _GRID:
        # A floor above 1/k would lift what is said to be unlikely above what is known of nothing.
        if floor * k > 1.0:
            continue
        fit = fit_temperature(
            rows.with_floor(floor), tol=_SLOPE_TOLERANCE, max_iter=max_iter, start=slope
        )
        slope = fit.slope
        soft = prior.around(rows, floor, slope)
        # Where nothing lies below, all smaller floors are this map, and bear one name.
        last = np.log(floor) <= lowest
        learned = LearnedFloor(TINY if last else floor, slope, 0)
        found.append((learned, evidence_of_one_step(soft.rows, soft.prior)))
        if last:
            break
    best = max(evidence for _, evidence in found)
    chosen = [each for each, evidence in found if evidence >= best - _CLEAR][-1]
    smallest = found[-1][0]
    if chosen is smallest:
        return smallest

    def evidence_of_fit(each: LearnedFloor) -> float:
        soft = prior.around(rows, each.floor, each.slope)
        fit = fit_groups(soft.rows, soft.prior, learn=True, tol=_LOOSE, max_iter=max_iter)
        return fit.log_evidence

    clear = evidence_of_fit(chosen) > evidence_of_fit(smallest) + _CLEAR
    return chosen if clear else smallest
