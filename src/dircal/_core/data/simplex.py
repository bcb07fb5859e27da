"""From probabilities or logits to scores, and from logits to probabilities."""

from functools import reduce

import numpy as np

from dircal._typing import FloatArray

__all__ = [
    "LARGEST",
    "ROUNDING",
    "SUM_ROUNDING",
    "TINY",
    "log_softmax",
    "normalise",
    "normalise_beyond_rounding",
    "rest_of_logits",
    "rest_of_proba",
    "softmax",
    "sums_of_columns",
]

LARGEST = 1e100
"""Beyond this products of logits, weights and parameters leave the range of float64."""
ROUNDING = 1e-6
"""Rows of single precision miss the sum of one by up to this much; more is not rounding."""
SUM_ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""Rounding error of a mean over rows, as a part of its largest terms. NumPy adds pairwise: it grows
with the logarithm of their number, and 64 units in the last place are more than were seen."""
TINY = float(np.finfo(np.float64).tiny)
"""The paper's clip of probabilities: the smallest normal number, whose logarithm is -708.4."""


def sums_of_columns(block: FloatArray) -> FloatArray:
    """Sum of each column of ``block`` (k, m), the same whatever other columns there are.

    NumPy adds a single column in another order than several, which moves the last digit.
    """
    return reduce(np.add, block[1:], block[0].copy())


def normalise(block: FloatArray) -> FloatArray:
    """Divide each column of ``block`` (k, m) by its sum, in place."""
    block /= block.sum(axis=0)
    return block


def normalise_beyond_rounding(block: FloatArray, rounding: float) -> FloatArray:
    """Divide the columns of ``block`` (k, m) whose sum misses one by more than ``rounding``.

    The others stay as they were given, in place: a division that only moves the last digit would
    carry a probability of exactly 0.8 over the edge of its bin.
    """
    sums = sums_of_columns(block)
    far = np.abs(sums - 1.0) > rounding
    if far.any():
        block /= np.where(far, sums, 1.0)
    return block


def log_softmax(block: FloatArray) -> FloatArray:
    """Logarithm of the softmax of each column of ``block`` (k, m), in place.

    Never the logarithm of a computed softmax: that would turn a logit 800 below the best into
    ``log(0)``.
    """
    block -= block.max(axis=0)
    block -= np.log(np.exp(block).sum(axis=0))
    return block


def softmax(block: FloatArray) -> FloatArray:
    """Softmax of each column of ``block`` (k, m), in place."""
    block -= block.max(axis=0)
    return normalise(np.exp(block, out=block))


def rest_of_proba(block: FloatArray) -> FloatArray:
    """For each entry of ``block`` (k, m), the sum of the others in its column.

    Taking an entry from the total is exact enough but for the one entry that may be more than half
    of it: beside a probability of 1 the rest would be lost in rounding. It is summed by itself.
    """
    total = sums_of_columns(block)
    large = block > 0.5 * total
    return np.where(large, sums_of_columns(np.where(large, 0.0, block)), total - block)


def rest_of_logits(block: FloatArray, *, in_any_order: bool = True) -> FloatArray:
    """For each entry of ``block`` (k, m), the logarithm of the summed exponentials of the others.

    As in `rest_of_proba`, the entry that has more than half of the sum gets one of its own, which
    does not underflow beside it. To be the same ``in_any_order`` of the classes, exponentials are
    added from small to large: where logits tie, a last digit that goes by the order would carry
    some rows over a step of a map. What has no steps can do without sorting. Masked classes, -inf,
    add nothing; beside them alone the rest is -inf.
    """
    top = block.max(axis=0)
    odds = np.exp(block - top)
    sums = _sums_from_small_to_large if in_any_order else sums_of_columns
    total = sums(odds)
    large = odds > 0.5 * total
    small = np.where(large, -np.inf, block)
    next_top = small.max(axis=0)
    finite_top = np.where(np.isneginf(next_top), 0.0, next_top)
    with np.errstate(divide="ignore"):
        of_large = finite_top + np.log(sums(np.exp(small - finite_top)))
    of_others: FloatArray = top + np.log(np.where(large, 1.0, total - odds))
    return np.where(large, of_large, of_others)


def _sums_from_small_to_large(block: FloatArray) -> FloatArray:
    return sums_of_columns(np.sort(block, axis=0))
