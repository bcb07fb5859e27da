"""What each row loses, by its probabilities and its label."""

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray, IntArray

__all__ = ["LOSS_CLIP", "confidence_and_hits", "log_losses", "squared_errors"]

LOSS_CLIP = 1e-15
"""Probabilities count as at least this in a log-loss, as in the paper: a sure miss costs 34.5."""


def log_losses(proba: FloatArray, labels: IntArray) -> FloatArray:
    """``-ln p_y`` of each column of ``proba`` (k, m)."""
    truth = proba[labels, np.arange(len(labels))]
    # Sums that miss one by rounding may leave p_y a hair above one: no loss is negative.
    losses: FloatArray = -np.log(truth.clip(LOSS_CLIP, 1.0))
    return losses


def squared_errors(proba: FloatArray, labels: IntArray) -> FloatArray:
    """Squared distance of each column of ``proba`` (k, m) from its one-hot label."""
    difference = proba.copy()
    difference[labels, np.arange(len(labels))] -= 1.0
    squared: FloatArray = np.einsum("jm,jm->m", difference, difference)
    return squared


def confidence_and_hits(
    proba: FloatArray, labels: IntArray
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Largest probability of each column, and whether its first maximum is the label."""
    leader = proba.argmax(axis=0)
    return proba[leader, np.arange(len(labels))], leader == labels
