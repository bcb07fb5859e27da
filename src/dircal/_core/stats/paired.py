"""The paired comparison of two losses on the same rows."""

from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray

__all__ = ["PairedDifference", "paired_difference", "paired_from_moments", "standard_error"]


@dataclass(frozen=True)
class PairedDifference:
    """Weighted mean of the differences of two losses, and its standard error."""

    mean: float
    standard_error: float


def paired_difference(
    difference: FloatArray, weights: FloatArray | None, total_weight: float
) -> PairedDifference:
    """Mean of the ``difference`` (n,) of two losses, with ``weights`` (n,) that sum to one.

    Without weights all rows count alike. ``total_weight`` is the number of rows that the weights
    stand for; an integer weight counts like so many copies of the row.
    """
    mean = float(np.average(difference, weights=weights))
    variance = float(np.average((difference - mean) ** 2, weights=weights))
    return PairedDifference(mean, standard_error(variance, total_weight))


def paired_from_moments(mean: float, mean_square: float, total_weight: float) -> PairedDifference:
    """The same from the weighted means of the differences and of their squares."""
    variance = max(mean_square - mean**2, 0.0)
    return PairedDifference(mean, standard_error(variance, total_weight))


def standard_error(variance: float, total_weight: float) -> float:
    """Of a mean over so many rows; one row alone says nothing about its error."""
    return float(np.sqrt(variance / (total_weight - 1.0))) if total_weight > 1.0 else np.inf
