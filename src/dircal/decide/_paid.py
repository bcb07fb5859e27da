"""Realised cost of each row, with confidence intervals for the mean."""

from dataclasses import dataclass

import numpy as np

from dircal._core.stats.confidence import (
    ConfidenceDistribution,
    Moments,
    StudentisedMean,
    interval_of,
    two_sided,
)
from dircal._core.stats.tilted_mean import TiltedMean
from dircal._typing import FloatArray
from dircal.decide._actions import Choice, choose
from dircal.decide._cost_table import CostTable
from dircal.decide._limits import DECIDE_LIMITS
from dircal.decide._rows import DecidedRows

__all__ = ["Mean", "Paid", "mean_and_gap", "mean_of", "paid"]


@dataclass(frozen=True)
class Paid:
    """The actions that were chosen, and what each row (n,) has cost."""

    choice: Choice
    costs: FloatArray


@dataclass(frozen=True)
class Mean:
    """A mean with its interval, and the p-value of its being zero."""

    value: float
    low: float
    high: float
    pvalue: float


def paid(rows: DecidedRows, costs: CostTable) -> Paid:
    """What the best actions have cost."""
    choice = choose(rows.proba, costs.matrix)
    return Paid(choice, costs.matrix[rows.labels, choice.best])


def mean_of(values: FloatArray, level: float) -> Mean:
    """The mean of values (n,) by Student's distribution, corrected for skewness."""
    confidence = _studentised(values)
    low, high = interval_of(confidence, level)
    return Mean(float(values.mean()), low, high, two_sided([confidence], 0.0))


def mean_and_gap(
    found: Paid, rows: DecidedRows, costs: CostTable, level: float
) -> tuple[Mean, Mean]:
    """Return the mean realised cost, and by how much the predicted one exceeds it.

    Each interval contains two: that of `mean_of`, and that of the predicted distribution of the
    cost, which does not need events. The larger p-value counts.
    """
    best, expected = found.choice.best, found.choice.cost
    parts = [(rows.proba[best == a], costs.matrix[:, a]) for a in np.unique(best)]
    tilted = TiltedMean(parts, float(found.costs.mean()))
    mean, predicted, gaps = tilted.mean, float(expected.mean()), expected - found.costs
    low, high = interval_of(tilted, level)
    chance = two_sided([tilted], predicted)
    return (
        _hull(mean, (low, high), chance, _studentised(found.costs), level),
        _hull(
            predicted - mean, (predicted - high, predicted - low), chance, _studentised(gaps), level
        ),
    )


def _hull(
    value: float,
    ends: tuple[float, float],
    pvalue: float,
    other: ConfidenceDistribution,
    level: float,
) -> Mean:
    low, high = interval_of(other, level)
    return Mean(value, min(low, ends[0]), max(high, ends[1]), max(pvalue, two_sided([other], 0.0)))


def _studentised(values: FloatArray) -> StudentisedMean:
    return StudentisedMean(Moments.of(values), DECIDE_LIMITS.get().min_p_value_inverse)
