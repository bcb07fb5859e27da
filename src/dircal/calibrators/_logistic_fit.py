"""Logistic maps of the two log-probabilities."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Iteration, Solution
from dircal.calibrators._binary import AbstractBinaryCalibrator, log_probability_steps
from dircal.calibrators._fit import Fit
from dircal.calibrators._solver_options import AbstractSolverMethod, SolverDetails
from dircal.maps import AbstractStep, Sigmoid
from dircal.tables import BINARY, Arguments, LabelledRows

__all__ = ["AbstractLogisticCalibrator", "AbstractLogisticMethod"]


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractLogisticMethod(AbstractSolverMethod):
    """Fits the log-odds of the positive class, from the two log-probabilities."""

    details: ClassVar[type] = SolverDetails
    why_separated: ClassVar[str] = (
        "a threshold separates the classes without error "
        "(few rows, an absent class, or a classifier that makes no mistakes)."
    )

    @property
    def arguments(self) -> Arguments:
        """Rules for reading `X` and `y`: one column may stand for two classes."""
        return BINARY

    @abstractmethod
    def solve(self, rows: Rows, slope: float) -> tuple[tuple[AbstractStep, ...], Solution]:
        """Find the steps from log-probabilities to log-odds, starting at a temperature map."""

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows."""
        scale = self.input_scale
        scores = self.read(rows, log_probability_steps(scale, 0.0))
        chosen = self.choose_clip(scores)
        steps, solution = self.solve(scores.with_clip(chosen.clip), chosen.slope)
        return Fit.from_steps(
            rows,
            scale,
            (*log_probability_steps(scale, chosen.clip), *steps, Sigmoid()),
            details=SolverDetails(solution.n_iter, tuple(solution.history), solution.status),
            notices=self.notices(solution),
        )


class AbstractLogisticCalibrator(AbstractBinaryCalibrator):
    """A calibrator whose method is a logistic one."""

    n_iter_: int
    history_: tuple[Iteration, ...]

    @property
    def clip_(self) -> float:
        """The floor in use; 0 if there is none."""
        return self.map_.clip
