"""The paired comparison of two losses on the same rows."""

from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray, SmallFloatArray

__all__ = ["PairedDifference", "paired_difference"]


@dataclass(frozen=True)
class PairedDifference:
    """Weighted mean of the differences of two losses, and its standard error."""

    mean: float
    standard_error: float


def paired_difference(
    difference: FloatArray | SmallFloatArray, share: FloatArray | None, total_weight: float
) -> PairedDifference:
    """Mean of the ``difference`` (n,) of two losses, with weights ``share`` (n,) summing to one.

    Without shares all rows count alike. ``total_weight`` is the number of rows that the weights
    stand for; an integer weight counts like so many copies of the row. One row alone says nothing
    about the error: it is infinite.
    """
    mean = float(np.average(difference, weights=share))
    if total_weight <= 1.0:
        return PairedDifference(mean, np.inf)
    spread = float(np.average((difference - mean) ** 2, weights=share))
    return PairedDifference(mean, float(np.sqrt(spread / (total_weight - 1.0))))
