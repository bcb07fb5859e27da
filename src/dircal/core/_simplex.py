"""From probabilities or logits to scores, and from logits to probabilities."""

import numpy as np

from dircal._typing import FloatArray

__all__ = [
    "TINY",
    "log_probability",
    "log_softmax",
    "normalise",
    "normalise_beyond_rounding",
    "softmax",
]

TINY = float(np.finfo(np.float64).tiny)
"""The paper's floor for probabilities: the smallest normal number, whose logarithm is -708.4."""


def normalise(block: FloatArray) -> FloatArray:
    """Divide each column of ``block`` (k, m) by its sum, in place."""
    block /= block.sum(axis=0)
    return block


def normalise_beyond_rounding(block: FloatArray, rounding: float) -> FloatArray:
    """Divide the columns of ``block`` (k, m) whose sum misses one by more than ``rounding``.

    The others stay as they were given, in place: a division that only moves the last digit would
    carry a probability of exactly 0.8 over the edge of its bin.
    """
    sums = block.sum(axis=0)
    far = np.abs(sums - 1.0) > rounding
    if far.any():
        block /= np.where(far, sums, 1.0)
    return block


def log_probability(block: FloatArray) -> FloatArray:
    """Logarithm of the probabilities in ``block`` (k, m), in place, columns made to sum to one.

    Zeros become ``TINY``: whatever floor is wanted above that is a matter of the scores.
    """
    normalise(block)
    np.maximum(block, TINY, out=block)
    return np.log(block, out=block)


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
