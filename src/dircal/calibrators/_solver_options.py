"""What calibrators share whose map is found by a solver: a clip, limits, and how it ended."""

from typing import Literal

from dircal._core.clip.by_likelihood import LearnedClip, learn_clip
from dircal._core.data.rows import Rows, smallest_subsample
from dircal._core.data.simplex import TINY
from dircal._core.optim.newton import Status
from dircal._core.optim.temperature import fit_temperature
from dircal._typing import InputScale
from dircal.calibrators._base import FitWarning
from dircal.exceptions import ConvergenceWarning
from dircal.tables import check_integer, check_number

__all__ = ["Clip", "check_solver_options", "choose_clip", "warnings_about"]

Clip = float | Literal["learned"]

# A start for other solvers: the predicted decrease of the last step on the mean loss. A subsample
# costs next to nothing, and its slope is where all rows are looked at first.
_START_TOLERANCE = 1e-3
_START_TOLERANCE_OF_SUBSAMPLES = 1e-8


def check_solver_options(clip: Clip, max_iter: int, tol: float) -> None:
    """Refuse a clip, a number of steps or a tolerance that cannot be."""
    check_number("tol", tol, above=0.0)
    check_integer("max_iter", max_iter, at_least=1)
    if clip == "learned":
        return
    if isinstance(clip, str):
        raise ValueError(f"`clip` must be 'learned' or a number; got {clip!r}.")
    check_number("clip", clip, at_least=TINY, below=1.0)


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


def warnings_about(
    status: Status, name: str, *, max_iter: int, why_separated: str, remedy: str
) -> list[FitWarning]:
    """What to say if the solver of the calibrator called ``name`` ended badly."""
    if status is Status.ITERATION_LIMIT:
        message = (
            f"{name} did not converge in {max_iter} iterations. Raise `max_iter`, "
            "or loosen `tol` if a mean loss this close to the best is good enough."
        )
    elif status is Status.STALLED:
        message = (
            f"{name} stopped short of the optimum: rounding errors hide the way. "
            "Raise `clip`, choose a stronger penalty, or loosen `tol`."
        )
    elif status is Status.SEPARATED:
        message = (
            f"{name} has no finite optimum on these rows: {why_separated} "
            f"The fitted map is finite, but its confidence says little. {remedy}"
        )
    else:
        return []
    return [(message, ConvergenceWarning)]
