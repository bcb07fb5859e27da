"""Methods that use a solver: a clip, limits, and messages about how it ended."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from dircal._core.clip.by_likelihood import LearnedClip, learn_clip
from dircal._core.data.rows import Rows, smallest_subsample
from dircal._core.data.simplex import TINY
from dircal._core.optim.newton import Iteration, Solution, Status
from dircal._core.optim.temperature import fit_temperature
from dircal._typing import InputScale
from dircal.calibrators._fit import AbstractScoreMethod, Notice
from dircal.exceptions import ConvergenceWarning
from dircal.tables import check_integer, check_number

__all__ = ["AbstractSolverMethod", "Clip", "SolverDetails", "choose_clip"]

Clip = float | Literal["learned"]

# A start for other solvers: the predicted decrease of the last step on the mean loss. A subsample
# costs next to nothing, and its slope is where all rows are looked at first.
_START_TOLERANCE = 1e-3
_START_TOLERANCE_OF_SUBSAMPLES = 1e-8


@dataclass(frozen=True)
class SolverDetails:
    """Diagnostics of a solver.

    Parameters
    ----------
    n_iter : int
        Newton steps taken.
    history : tuple of Iteration
        One entry for each step.
    status : Status
        How the solver ended.
    """

    n_iter: int
    history: tuple[Iteration, ...]
    status: Status


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractSolverMethod(AbstractScoreMethod):
    """A method that minimises a loss over the parameters of its map, by Newton's method."""

    clip: Clip
    max_iter: int
    tol: float

    why_separated: ClassVar[str]
    """Why a fit may have no finite optimum."""
    remedy: ClassVar[str]
    """What to do about it."""

    @property
    def fits_parts(self) -> bool:
        """Whether a fit needs only sums over rows: yes."""
        return True

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_number("tol", self.tol, above=0.0)
        check_integer("max_iter", self.max_iter, at_least=1)
        if self.clip == "learned":
            return
        if isinstance(self.clip, str):
            raise ValueError(f"`clip` must be 'learned' or a number; got {self.clip!r}.")
        check_number("clip", self.clip, at_least=TINY, below=1.0)

    def choose_clip(self, rows: Rows) -> LearnedClip:
        """Return the floor of the probabilities, zero for none, and a slope to start from."""
        return choose_clip(rows, self.clip, self.input_scale, self.max_iter)

    def notices(self, solution: Solution) -> tuple[Notice, ...]:
        """Return the warning about a solver that ended badly, if it did."""
        status = solution.status
        if status is Status.ITERATION_LIMIT:
            message = (
                f"{self.name} did not converge in {self.max_iter} iterations. Raise `max_iter`, "
                "or loosen `tol` if a mean loss this close to the best is good enough."
            )
        elif status is Status.STALLED:
            message = (
                f"{self.name} stopped short of the optimum: rounding errors hide the way. "
                "Raise `clip`, choose a stronger penalty, or loosen `tol`."
            )
        elif status is Status.SEPARATED:
            message = (
                f"{self.name} has no finite optimum on these rows: {self.why_separated} "
                f"The fitted map is finite, but its confidence says little. {self.remedy}"
            )
        else:
            return ()
        return ((message, ConvergenceWarning),)


def choose_clip(rows: Rows, clip: Clip, input_scale: InputScale, max_iter: int) -> LearnedClip:
    """Floor of the probabilities, zero for none, and a slope to start from."""
    if clip == "learned" and input_scale == "probability":
        return learn_clip(rows, max_iter=max_iter)
    given = 0.0 if clip == "learned" else float(clip)
    rows = rows.with_clip(given)
    few = smallest_subsample(rows)
    if few is not None:
        start = fit_temperature(few, tol=_START_TOLERANCE_OF_SUBSAMPLES, max_iter=max_iter)
        if start.solution.status is Status.CONVERGED:
            return LearnedClip(given, start.slope, 0)
    guess = fit_temperature(rows, tol=_START_TOLERANCE, max_iter=max_iter)
    return LearnedClip(given, guess.slope, guess.solution.n_passes)
