"""Quadratic penalties on [W | b]: a weight and a centre for each entry."""

from dataclasses import dataclass

import numpy as np

from dircal._core.model.limits import MODEL_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = [
    "GROUPS",
    "ParameterPenalty",
    "Penalty",
    "group_of_entries",
    "l2",
    "no_penalty",
    "off_diagonal",
    "spread_and_share",
]


GROUPS = ("diagonal", "off_diagonal", "intercept")
"""Entries of [W | b] that a prior treats alike."""


@dataclass(frozen=True)
class Penalty:
    """The sum of ``weight * (entry - centre)**2`` over the entries of [W | b], both (k, k + 1)."""

    weight: FloatArray
    centre: FloatArray


@dataclass(frozen=True)
class ParameterPenalty:
    """The same for parameters (p,) in the order of a structure."""

    weight: FloatArray
    centre: FloatArray


def spread_and_share(means: FloatArray, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance of each feature and its share of the mean square, from moments (d,).

    An intercept absorbs the mean of a feature, so what a slope does to logits is the variance. A
    feature that differs by less than ``NO_SPREAD`` of its size is constant.
    """
    spread = np.maximum(
        squares - means**2, MODEL_LIMITS.get().min_spread * np.maximum(squares, 1.0)
    )
    return spread, spread / np.maximum(squares, spread)


def _around_zero(weight: FloatArray) -> Penalty:
    return Penalty(weight, np.zeros_like(weight))


def no_penalty(n_classes: int) -> Penalty:
    """Nothing is penalised."""
    return _around_zero(np.zeros((n_classes, n_classes + 1)))


def l2(n_classes: int, lam: float) -> Penalty:
    """``lam * (sum of W**2 + sum of b**2)``: towards the uniform map, intercepts included."""
    return _around_zero(np.full((n_classes, n_classes + 1), lam))


def off_diagonal(n_classes: int, lam: float, mu: float) -> Penalty:
    """ODIR, section 3 of the paper; the diagonal stays free.

    ``lam / (k (k - 1)) * sum of squared off-diagonal entries + mu / k * sum of b**2``.
    """
    weight = np.full((n_classes, n_classes + 1), lam / (n_classes * (n_classes - 1)))
    np.fill_diagonal(weight, 0.0)
    weight[:, -1] = mu / n_classes
    return _around_zero(weight)


def group_of_entries(n_classes: int) -> IntArray:
    """Number in ``GROUPS`` of each entry of [W | b], (k, k + 1)."""
    group = np.ones((n_classes, n_classes + 1), dtype=np.intp)
    np.fill_diagonal(group, 0)
    group[:, -1] = 2
    return group
