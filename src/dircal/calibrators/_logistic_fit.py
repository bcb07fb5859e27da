"""Fits of a logistic map of the two log-probabilities."""

from typing import TYPE_CHECKING, ClassVar

from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Iteration, Solution, Status
from dircal._typing import InputScale
from dircal.calibrators._base import Fitted, FitWarning, rows_of
from dircal.calibrators._binary import log_probability_steps
from dircal.calibrators._solver_options import (
    Clip,
    check_solver_options,
    choose_clip,
    warnings_about,
)
from dircal.maps import AbstractStep, CalibrationMap, Sigmoid
from dircal.tables import LabelledRows

__all__ = ["LogisticMapMixin"]


class LogisticMapMixin:
    """Fits the log-odds of the positive class, from the two log-probabilities."""

    input_scale: InputScale
    clip: Clip
    max_iter: int
    tol: float
    map_: CalibrationMap
    n_iter_: int
    history_: tuple[Iteration, ...]
    _status: Status

    _remedy: ClassVar[str]

    if TYPE_CHECKING:

        def _solve(self, rows: Rows, slope: float) -> tuple[tuple[AbstractStep, ...], Solution]:
            """Steps from log-probabilities to log-odds, from the best temperature map on."""

    @property
    def clip_(self) -> float:
        """The floor in use; 0 where there is none."""
        return self.map_.clip

    def _check_options(self) -> None:
        check_solver_options(self.clip, self.max_iter, self.tol)

    def _fit(self, data: LabelledRows) -> Fitted:
        scale = self.input_scale
        rows = rows_of(data, scale, log_probability_steps(scale, 0.0))
        chosen = choose_clip(rows, self.clip, scale, self.max_iter)
        steps, solution = self._solve(rows.with_clip(chosen.clip), chosen.slope)
        return Fitted(
            (*log_probability_steps(scale, chosen.clip), *steps, Sigmoid()),
            {
                "n_iter_": solution.n_iter,
                "history_": tuple(solution.history),
                "_status": solution.status,
            },
        )

    def _fit_warnings(self) -> list[FitWarning]:
        return warnings_about(
            self._status,
            type(self).__name__,
            max_iter=self.max_iter,
            why_separated="a threshold separates the classes without error "
            "(few rows, an absent class, or a classifier that makes no mistakes).",
            remedy=self._remedy,
        )
