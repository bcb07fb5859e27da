"""Fits of structure x penalty: one of them, or a path of strengths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dircal._core.clip.by_likelihood import LearnedClip
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import Penalty
from dircal._core.model.structure import Diagonal, Full, Scalar, Structure
from dircal._core.optim.newton import Solution
from dircal._core.optim.path import order_of_path, solve_path
from dircal._core.optim.separation import solve
from dircal._core.optim.temperature import TemperatureFit, fit_temperature
from dircal._typing import FloatArray
from dircal.maps import AbstractLinearStep, Affine, Scale
from dircal.maps import Diagonal as DiagonalStep

__all__ = ["LinearFit", "as_step", "fit_linear", "fit_linear_path", "is_of"]

# Predicted decrease of the temperature map that a fit is compared with; what is left after the
# step is far less. From the slope of a subsample one step is all it takes: the decrease is about
# one over twice its rows.
_COMPARISON_TOLERANCE = 1e-5
_COMPARISON_TOLERANCE_FROM_SUBSAMPLE = 1e-3
# How far from its best the objective of a setting may be that is only compared with others.
_SEARCH_TOLERANCE = 1e-10


@dataclass(frozen=True)
class LinearFit:
    """The best map of a structure and a penalty, and the temperature map it is compared with."""

    structure: Structure
    clip: float
    solution: Solution
    temperature: Solution

    @property
    def step(self) -> AbstractLinearStep:
        """The map of scores as a step."""
        return as_step(self.structure, self.solution.params)


def as_step(structure: Structure, params: FloatArray) -> AbstractLinearStep:
    """A linear map of scores with as few numbers as its structure has."""
    weights = structure.unpack(params)
    if isinstance(structure, Scalar):
        return Scale(float(weights[0, 0]))
    if isinstance(structure, Diagonal):
        return DiagonalStep(np.diagonal(weights), weights[:, -1])
    return Affine(weights[:, :-1], weights[:, -1])


def is_of(structure: Structure, step: AbstractLinearStep) -> bool:
    """Whether a step is a map that the structure can have."""
    if isinstance(structure, Full):
        held = step.weights(structure.n_classes)[structure.n_free :]
        return isinstance(step, Affine) and not held.any()
    return isinstance(step, Scale if isinstance(structure, Scalar) else DiagonalStep)


def fit_linear(
    rows: Rows,
    structure: Structure,
    penalty: Penalty,
    chosen: LearnedClip,
    *,
    tol: float,
    max_iter: int,
) -> LinearFit:
    """The best map, from the temperature map that came with the clip."""
    rows = rows.with_clip(chosen.clip)
    # One slope has its own solver. The others are only compared with it; they start from the
    # rough slope, which is moderate also where the best one is at infinity.
    only_slope = structure.n_params == 1
    temperature = _temperature(rows, chosen, tol if only_slope else None, max_iter)
    solution = temperature.solution
    if temperature.every_row_right or not only_slope:
        solution = solve(
            Objective(Likelihood(rows, structure), penalty),
            _start(structure, rows.n_classes, chosen.slope),
            every_row_right=temperature.every_row_right,
            tol=tol,
            max_iter=max_iter,
        )
    return LinearFit(structure, chosen.clip, solution, temperature.solution)


def fit_linear_path(
    rows: Rows,
    structure: Structure,
    penalties: Sequence[Penalty],
    chosen: LearnedClip,
    *,
    tol: float,
    max_iter: int,
) -> Iterator[tuple[int, LinearFit]]:
    """The best map of each penalty, well enough to be compared, from strong to weak.

    They share rows, clip and curvature.
    """
    rows = rows.with_clip(chosen.clip)
    temperature = _temperature(rows, chosen, None, max_iter)
    order = order_of_path(penalties)
    solutions = solve_path(
        Likelihood(rows, structure),
        [penalties[i] for i in order],
        _start(structure, rows.n_classes, chosen.slope),
        every_row_right=temperature.every_row_right,
        tol=max(tol, _SEARCH_TOLERANCE),
        max_iter=max_iter,
    )
    for i, solution in zip(order, solutions, strict=True):
        yield i, LinearFit(structure, chosen.clip, solution, temperature.solution)


def _temperature(
    rows: Rows, chosen: LearnedClip, tol: float | None, max_iter: int
) -> TemperatureFit:
    """The temperature map, by default so closely that others can be compared with it.

    It is the one that came with the clip, where that is close enough.
    """
    if tol is None:
        few = rows.subsample() is not None
        tol = _COMPARISON_TOLERANCE_FROM_SUBSAMPLE if few else _COMPARISON_TOLERANCE
    known = chosen.temperature
    history = () if known is None else known.solution.history
    if known is not None and history and history[-1].predicted_decrease <= tol:
        return known
    return fit_temperature(rows, tol=tol, max_iter=max_iter, start=chosen.slope)


def _start(structure: Structure, n_classes: int, slope: float) -> FloatArray:
    return structure.pack(slope * np.eye(n_classes, n_classes + 1))
