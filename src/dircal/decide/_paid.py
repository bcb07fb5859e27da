"""What each row has cost, and how sure we may be of a mean of such numbers."""

from dataclasses import dataclass

from dircal._core.stats.confidence import Moments, StudentisedMean, interval_of, two_sided
from dircal._typing import FloatArray
from dircal.decide._actions import Choice, choose
from dircal.decide._cost_table import CostTable
from dircal.decide._limits import DECIDE_LIMITS
from dircal.decide._rows import DecidedRows

__all__ = ["Mean", "Paid", "mean_of", "paid"]


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
    confidence = StudentisedMean(Moments.of(values), DECIDE_LIMITS.get().min_p_value_inverse)
    low, high = interval_of(confidence, level)
    return Mean(float(values.mean()), low, high, two_sided([confidence], 0.0))
