"""Isotonic regression of events on a score, with equal scores as one."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from dircal._typing import AnyFloatArray, FloatArray

__all__ = ["IsotonicFit", "fit_isotonic"]


@dataclass(frozen=True)
class IsotonicFit:
    """Distinct ``scores`` (m,) in order, their ``weight``, the ``share`` of events, the ``values``.

    ``weight`` is None where every score occurs once and all count alike.
    """

    scores: FloatArray
    weight: FloatArray | None
    share: FloatArray
    values: FloatArray


def fit_isotonic(
    scores: FloatArray, outcomes: AnyFloatArray, weight: FloatArray | None
) -> IsotonicFit:
    """Least squares among the curves that never fall, of events 0 and 1 on ``scores`` (n,)."""
    order = np.argsort(scores)
    scores, share = scores[order], outcomes[order].astype(np.float64)
    weight = None if weight is None else weight[order]
    starts = np.flatnonzero(np.r_[True, scores[1:] != scores[:-1]])
    if len(starts) < len(scores):
        weight = np.ones_like(scores) if weight is None else weight
        positive = np.add.reduceat(weight * share, starts)
        weight = np.add.reduceat(weight, starts)
        scores, share = scores[starts], positive / weight
    values = isotonic_regression(share, weights=weight).x.clip(0.0, 1.0)
    return IsotonicFit(scores, weight, share, values)
