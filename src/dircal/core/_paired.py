"""The paired comparison of two sets of per-row losses."""

from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray

__all__ = ["PairedDifference", "paired_difference"]


@dataclass(frozen=True)
class PairedDifference:
    """Weighted mean of the differences of two losses, and its standard error."""

    mean: float
    standard_error: float


def paired_difference(
    losses: FloatArray, reference: FloatArray, share: FloatArray, total_weight: float
) -> PairedDifference:
    """Mean of ``losses - reference`` (n,) with weights ``share`` (n,) that sum to one.

    ``total_weight`` is the number of rows that the weights stand for; an integer weight counts
    like so many copies of the row. One row alone says nothing about the error: it is infinite.
    """
    difference = losses - reference
    mean = float(share @ difference)
    if total_weight <= 1.0:
        return PairedDifference(mean, np.inf)
    variance = float(share @ (difference - mean) ** 2) / (total_weight - 1.0)
    return PairedDifference(mean, float(np.sqrt(variance)))
