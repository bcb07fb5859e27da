"""Fits of a logistic map of the two log-probabilities."""

from collections.abc import Callable

from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Solution
from dircal._typing import InputScale
from dircal.calibrators._base import Fitted
from dircal.calibrators._binary import log_probability_steps, rows_of_two
from dircal.calibrators._solver_options import Clip, choose_clip
from dircal.maps import AbstractStep, Sigmoid
from dircal.validation import LabelledScores

__all__ = ["SEPARATED_BY_THRESHOLD", "fit_two_classes"]

SEPARATED_BY_THRESHOLD = (
    "a threshold separates the classes without error "
    "(few rows, an absent class, or a classifier that makes no mistakes)."
)
"""Why a logistic map may have no finite optimum."""


def fit_two_classes(
    data: LabelledScores,
    input_scale: InputScale,
    clip: Clip,
    max_iter: int,
    solve: Callable[[Rows, float], tuple[tuple[AbstractStep, ...], Solution]],
) -> Fitted:
    """Clip, solve, and put the steps together.

    ``solve`` gets the clipped rows and the slope of the best temperature map to start from; it
    returns the steps from log-probabilities to the log-odds of the positive class.
    """
    rows = rows_of_two(data, input_scale, log_probability_steps(input_scale, 0.0))
    chosen = choose_clip(rows, clip, input_scale, max_iter)
    steps, solution = solve(rows.with_clip(chosen.clip), chosen.slope)
    return Fitted(
        (*log_probability_steps(input_scale, chosen.clip), *steps, Sigmoid()),
        {
            "n_iter_": solution.n_iter,
            "history_": tuple(solution.history),
            "_status": solution.status,
        },
    )
