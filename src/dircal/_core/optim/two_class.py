"""The best logistic map of two classes."""

from functools import partial

import numpy as np

from dircal._core.data.chunks import Chunk
from dircal._core.data.rows import Rows, smallest_subsample
from dircal._core.model.logistic import Features, LogisticObjective
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.newton import Solution, Status, minimise
from dircal._core.optim.separation import solve_separated
from dircal._typing import FloatArray

__all__ = ["fit_logistic", "soft_target_gradient"]


def fit_logistic(
    rows: Rows,
    features: Features,
    start: FloatArray,
    *,
    tilt: FloatArray | None = None,
    tol: float,
    max_iter: int,
) -> Solution:
    """Parameters (d,) of the best map; many rows start from that of a subsample.

    A ``tilt`` belongs to smoothed targets, with which the optimum is finite.
    """
    limits = OPTIM_LIMITS.get()
    slant: FloatArray | float = 0.0 if tilt is None else tilt
    ridge = limits.two_class_ridge if tilt is None else 0.0
    objective = LogisticObjective(rows, features, slant, ridge)
    few = smallest_subsample(rows)
    first = objective if few is None else LogisticObjective(few, features, slant, ridge)
    # Far out there is no curvature, and so no Newton step. Smoothed targets never lead further
    # than the logarithm of their number.
    farthest = limits.max_start_logit if tilt is None else np.log(rows.total_weight + 2.0)
    start = start * min(1.0, farthest / max(2.0 * first.max_logit_change(start), farthest))
    if few is not None:
        guess = minimise(first, start, tol=limits.guess_tol, max_iter=max_iter)
        is_far = first.bernoulli_variance(guess.params) < limits.min_bernoulli_variance
        start = start if guess.status is not Status.CONVERGED or is_far else guess.params
    found = minimise(objective, start, tol=tol, max_iter=max_iter)
    if tilt is None and objective.bernoulli_variance(found.params) < limits.min_bernoulli_variance:
        return solve_separated(objective, found.params, max_iter=max_iter)
    return found


def soft_target_gradient(
    rows: Rows, features: Features, positive: float, negative: float
) -> FloatArray:
    """Linear term that turns labels into targets: ``positive`` for 1 and ``negative`` for 0.

    With t the target of a row and z its logit, the loss of a smoothed target is that of the label
    plus (label - t) z.
    """
    return rows.fold(partial(_soft_target_gradient, features, positive, negative))


def _soft_target_gradient(
    features: Features, positive: float, negative: float, chunk: Chunk
) -> FloatArray:
    hard = chunk.as_hard()
    excess = np.where(hard.labels > 0, 1.0 - positive, -negative) * hard.weight
    gradient: FloatArray = features(hard.scores) @ excess
    return gradient
