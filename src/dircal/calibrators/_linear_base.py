"""What the linear calibrators share: input scale x structure x penalty, solved by the engine."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from dircal._core.data.chunks import Reader, Rows, log_of_floor
from dircal._core.data.simplex import softmax
from dircal._core.model.objective import Objective
from dircal._core.model.penalty import Penalty, l2, no_penalty
from dircal._core.model.structure import Structure
from dircal._core.optim.newton import Solution
from dircal._core.optim.path import order_of_path, solve_path
from dircal._core.optim.separation import solve
from dircal._core.optim.temperature import fit_temperature
from dircal._typing import FloatArray, IntArray
from dircal.calibrators._base import limited_blas
from dircal.calibrators._parametric_base import AbstractParametricCalibrator
from dircal.calibrators._solver_base import Clip, choose_floor
from dircal.validation import LabelledScores, check_number, check_option

__all__ = ["AbstractLinearCalibrator", "Clip", "check_penalty", "simple_penalty"]

_DEFAULT_L2 = 1e-3
# What the last step of the temperature map that `explain` compares with may promise; what is left
# after it is far less.
_COMPARISON_TOLERANCE = 1e-5
# How far from its best the objective of a setting may be that is only compared with others.
_SEARCH_TOLERANCE = 1e-10


class AbstractLinearCalibrator(AbstractParametricCalibrator):
    """A map softmax(W s + b) of log-probabilities or logits s."""

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        rows = self._rows(data)
        start = choose_floor(rows, self.clip, self.input_scale, self.max_iter)
        rows = rows.with_floor(start.floor)
        structure = self._structure(rows.n_classes)
        # One slope has its own solver. The others are only compared with it; they start from the
        # rough slope, which is moderate also where the best one is at infinity.
        only_slope = structure.n_params == 1
        tol = self.tol if only_slope else _COMPARISON_TOLERANCE
        fit = fit_temperature(rows, tol=tol, max_iter=self.max_iter, start=start.slope)
        # Where every row is right, larger slopes are always better: if they are free there is no
        # finite optimum, wherever a solver would end.
        solution = fit.solution
        if fit.every_row_right or not only_slope:
            solution = self._solve(rows, structure, start.slope, fit.every_row_right)
        record = self._remember(rows, structure, solution.params, solution.loss, fit.solution)
        return _fitted(structure, solution, start.floor) | {"_record": record}

    def _fit_settings(
        self, data: LabelledScores, settings: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, Self]]:
        """Strengths share rows, floor and curvature; they are walked from strong to weak."""
        candidates = [clone(self).set_params(**setting) for setting in settings]
        for candidate in candidates:
            candidate._check_all_parameters()
        structure = self._structure(len(data.classes))
        strengths = all(set(setting) <= {"lam", "mu"} for setting in settings)
        if not strengths or structure.n_params == 1:
            yield from super()._fit_settings(data, settings)
            return
        with limited_blas(data.inputs.shape):
            rows = self._rows(data)
            chosen = choose_floor(rows, self.clip, self.input_scale, self.max_iter)
            rows = rows.with_floor(chosen.floor)
            k, n = rows.n_classes, rows.total_weight
            penalties = [candidate._penalty(k, n) for candidate in candidates]
            order = order_of_path(penalties)
            temperature = fit_temperature(
                rows, tol=_COMPARISON_TOLERANCE, max_iter=self.max_iter, start=chosen.slope
            )
            solutions = solve_path(
                rows,
                structure,
                [penalties[i] for i in order],
                structure.pack(chosen.slope * np.eye(k, k + 1)),
                every_row_right=temperature.every_row_right,
                tol=max(self.tol, _SEARCH_TOLERANCE),
                max_iter=self.max_iter,
            )
            for i, solution in zip(order, solutions, strict=True):
                candidates[i]._store(data, _fitted(structure, solution, chosen.floor))
                yield i, candidates[i]

    def _solve(
        self, rows: Rows, structure: Structure, slope: float, every_row_right: bool
    ) -> Solution:
        """Best parameters, starting from the temperature map with the given slope."""
        k = rows.n_classes
        return solve(
            Objective(rows, structure, self._penalty(k, rows.total_weight)),
            structure.pack(slope * np.eye(k, k + 1)),
            every_row_right=every_row_right,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    @abstractmethod
    def _structure(self, n_classes: int) -> Structure:
        """Which entries of W and b are free."""

    @abstractmethod
    def _penalty(self, n_classes: int, n: float) -> Penalty:
        """Penalty for ``n`` rows, counted by weight."""

    def _reader(self, columns: IntArray | None) -> Reader:
        return Reader(self._transform(), columns, log_of_floor(self.clip_))

    def _structure_and_params(self) -> tuple[Structure, FloatArray]:
        structure = self._structure(len(self.classes_))
        return structure, structure.pack(np.column_stack([self.coef_, self.intercept_]))

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        structure, params = self._structure_and_params()
        return lambda scores: softmax(structure.logits(params, scores))


def _fitted(structure: Structure, solution: Solution, floor: float) -> dict[str, Any]:
    """What every linear calibrator stores of a solution."""
    weights = structure.unpack(solution.params)
    return {
        "coef_": weights[:, :-1].copy(),
        "intercept_": weights[:, -1].copy(),
        "clip_": floor,
        "n_iter_": solution.n_iter,
        "_status": solution.status,
    }


def check_penalty(penalty: str, lam: float | None, allowed: tuple[str, ...]) -> None:
    """Refuse an unknown penalty, a bad strength, or a strength for no penalty."""
    check_option("penalty", penalty, allowed)
    if lam is None:
        return
    if penalty == "none":
        raise ValueError(
            f"`lam` has no effect with penalty='none'; got lam={lam!r}. "
            "Leave `lam` at None, or choose a penalty."
        )
    check_number("lam", lam, at_least=0.0)


def simple_penalty(penalty: str, lam: float | None, n_classes: int) -> Penalty:
    """No penalty, or the same weight on every free entry."""
    if penalty == "none":
        return no_penalty(n_classes)
    return l2(n_classes, _DEFAULT_L2 if lam is None else lam)
