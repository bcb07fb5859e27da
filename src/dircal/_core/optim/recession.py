"""Whether an objective has a finite optimum, decided by a certificate for either answer.

Likelihood and penalty are convex and bounded below, so their sum has a minimum unless it falls for
ever along some direction d (Rockafellar, 1970, theorem 27.1). For this likelihood that is a
direction in which classes are separated (Albert & Anderson, 1984): it leaves penalised entries
alone, along it no margin falls, that is no logit of a true class against another, and some margin
rises.

Such a direction is the certificate that there is no finite optimum, and one pass over the rows
verifies it. It is looked for by linear programs over a few rows: those that the last direction
fails are added until a direction fails none, or until no direction is left even for these few,
which is the certificate that there is a finite optimum. Rows never come together in one place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial, reduce
from operator import iadd
from typing import Self

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import Chunk
from dircal._core.data.simplex import TINY
from dircal._core.model.objective import Objective
from dircal._core.model.structure import Structure
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._typing import FloatArray

__all__ = ["SeparationTest", "Verdict"]


class Verdict(Enum):
    """What is known about an objective."""

    SEPARATED = "no finite optimum"
    FINITE = "a finite optimum"
    OPEN = "not known"


@dataclass
class SeparationTest:
    """Decides whether an objective has a finite optimum, for a solver on the way to it.

    ``n_passes`` counts how often the rows were read for that.
    """

    objective: Objective
    n_passes: int = 0

    @cached_property
    def is_finite(self) -> bool:
        """Whether a penalty on every parameter answers the question without looking."""
        return not self._free.any()

    @cached_property
    def _free(self) -> npt.NDArray[np.bool_]:
        """Which parameters (p,) no penalty holds."""
        free: npt.NDArray[np.bool_] = self.objective.penalty_hessian == 0.0
        return free

    @cached_property
    def _units(self) -> FloatArray:
        """The change (f,) of each free parameter that changes a logit by one at most."""
        self.n_passes += 1
        largest = self.objective.likelihood.rows.fold(_largest_scores).values
        if self.objective.n_params == 1:
            largest[:] = largest.max()
        table = np.tile(np.append(np.maximum(largest, TINY), 1.0), (len(largest), 1))
        units: FloatArray = 1.0 / self.objective.structure.entries(table)[self._free]
        return units

    def is_long(self, step: FloatArray, change: float) -> bool:
        """Whether ``step`` changes a centred logit by ``change`` or more.

        Mostly the largest score tells that it cannot; elsewhere a pass does.
        """
        objective, rows = self.objective, self.objective.likelihood.rows
        largest = np.full((rows.n_classes, 1), rows.largest)
        bound = 2.0 * float(objective.structure.logits(np.abs(step), largest).max())
        if bound < change:
            return False
        self.n_passes += 1
        return objective.max_logit_change(step) >= change

    def decide(self, candidates: Sequence[FloatArray], gradient: FloatArray) -> Verdict:
        """Look at ``candidates`` first, and then for the best direction down the ``gradient``.

        The gradient is a sum of margins with negative weights: where no direction that lowers no
        margin descends, there is no direction of separation.
        """
        limits = OPTIM_LIMITS.get()
        fallen = []
        for candidate in candidates:
            direction = candidate[self._free] / self._units
            size = np.abs(direction).max(initial=0.0)
            if size > 0.0:
                margins = self._margins_along(direction / size)
                if margins.lowest >= -limits.lp_rounding and margins.highest >= limits.min_lp_rise:
                    return Verdict.SEPARATED
                fallen.append(margins.rows)
        slope = gradient[self._free] * self._units
        if len(slope) > limits.max_program_params:
            return Verdict.OPEN
        return self._by_programs(slope / np.abs(slope).max(), fallen)

    def _by_programs(self, slope: FloatArray, fallen: list[FloatArray]) -> Verdict:
        """Directions that descend most among those that no row fails which was seen to fail."""
        limits = OPTIM_LIMITS.get()
        for _ in range(limits.max_programs):
            direction = _best_direction(slope, np.vstack(fallen))
            if direction is None:
                return Verdict.OPEN
            if slope @ direction >= -limits.lp_rounding:
                return Verdict.FINITE
            margins = self._margins_along(direction)
            if margins.lowest >= -limits.lp_rounding:
                return (
                    Verdict.SEPARATED if margins.highest >= limits.min_lp_rise else Verdict.FINITE
                )
            fallen.append(margins.rows)
        return Verdict.OPEN

    def _margins_along(self, direction: FloatArray) -> "_Margins":
        """What a direction (f,) in the unit cube does to margins."""
        largest, along = np.zeros((2, self.objective.n_params))
        largest[self._free] = self._units
        along[self._free] = self._units * direction
        self.n_passes += 1
        structure, n_rows = self.objective.structure, _rows_for_program(len(direction))
        margins = self.objective.likelihood.rows.fold(
            partial(_margins, structure, along, largest, n_rows)
        )
        margins.rows = margins.rows[:, self._free] * self._units
        return margins


def _rows_for_program(n_params: int) -> int:
    """How many rows a pass adds to the linear program; none where there will be no program."""
    limits = OPTIM_LIMITS.get()
    few = n_params <= limits.max_program_params
    return max(limits.min_program_rows, limits.program_rows_per_param * n_params) if few else 0


def _best_direction(slope: FloatArray, rows: FloatArray) -> FloatArray | None:
    """The direction in the unit cube that descends most, of those that no row fails."""
    limits = OPTIM_LIMITS.get()
    # Few fits need it, and it takes long to import.
    from scipy.optimize import linprog

    found = linprog(
        slope,
        A_ub=-rows / np.abs(rows).sum(axis=1, keepdims=True),
        b_ub=np.zeros(len(rows)),
        bounds=(-1.0, 1.0),
        method="highs",
        options={
            "primal_feasibility_tolerance": limits.feasibility,
            "dual_feasibility_tolerance": limits.feasibility,
        },
    )
    return found.x if found.status == 0 else None


@dataclass
class _Margins:
    """Lowest and highest change of a margin, and up to ``n_rows`` of those that fall the most.

    ``falls`` (c,) are their changes, and ``rows`` (c, p) what each parameter does to them.
    """

    lowest: float
    highest: float
    falls: FloatArray
    rows: FloatArray
    n_rows: int

    def __iadd__(self, other: Self) -> Self:
        self.lowest = min(self.lowest, other.lowest)
        self.highest = max(self.highest, other.highest)
        falls = np.concatenate([self.falls, other.falls])
        worst = np.argsort(falls, kind="stable")[: self.n_rows]
        self.falls, self.rows = falls[worst], np.concatenate([self.rows, other.rows])[worst]
        return self


def _margins(
    structure: Structure, direction: FloatArray, largest: FloatArray, n_rows: int, chunk: Chunk
) -> _Margins:
    """Margins of all labels that rows may have."""
    first, *others = (
        _margins_of_piece(structure, direction, largest, n_rows, piece)
        for piece in chunk.hard_pieces()
    )
    return reduce(iadd, others, first)


def _margins_of_piece(
    structure: Structure, direction: FloatArray, largest: FloatArray, n_rows: int, chunk: Chunk
) -> _Margins:
    """Margins along ``direction`` (p,), as parts of the most that changes of ``largest`` do."""
    scores, labels = chunk.scores, chunk.labels
    every = np.arange(len(labels))
    change = structure.logits(direction, scores)
    most = structure.logits(largest, np.abs(scores))
    margin = change[labels, every] - change
    margin /= most[labels, every] + most + TINY
    lowest, against = margin.min(axis=0), margin.argmin(axis=0)
    fallen = np.flatnonzero(lowest < -OPTIM_LIMITS.get().lp_rounding)
    if len(fallen) > n_rows:
        fallen = fallen[np.argpartition(lowest[fallen], n_rows)[:n_rows]]
    rows = np.empty((len(fallen), len(direction)))
    for row, i in zip(rows, fallen, strict=True):
        residual = np.zeros((len(scores), 1))
        residual[labels[i]] += 1.0
        residual[against[i]] -= 1.0
        row[:] = structure.adjoint(residual, scores[:, i : i + 1])
    return _Margins(float(lowest.min()), float(margin.max()), lowest[fallen], rows, n_rows)


@dataclass
class _LargestScores:
    """Largest absolute score (k,) of each class."""

    values: FloatArray

    def __iadd__(self, other: Self) -> Self:
        np.maximum(self.values, other.values, out=self.values)
        return self


def _largest_scores(chunk: Chunk) -> _LargestScores:
    return _LargestScores(np.abs(chunk.scores).max(axis=1).astype(np.float64))
