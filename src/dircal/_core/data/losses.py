"""What each row loses, by its probabilities and its label, or the labels that it may have."""

import numpy as np

from dircal._core.data.chunks import Chunk
from dircal._core.data.simplex import TINY
from dircal._typing import AnyFloatArray, FloatArray, IntArray

__all__ = [
    "LOSS_CLIP",
    "label_losses",
    "largest_loss",
    "log_losses",
    "squared_errors",
]

LOSS_CLIP = 1e-15
"""Probabilities count as at least this in a log-loss, as in the paper: a sure miss costs 34.5."""


def log_losses(
    proba: FloatArray, labels: IntArray, targets: FloatArray | None = None
) -> FloatArray:
    """``-ln p_y`` of each column of ``proba`` (k, m); its mean over soft ``targets`` (k, m)."""
    if targets is not None:
        soft: FloatArray = np.einsum("jm,jm->m", targets, -np.log(proba.clip(LOSS_CLIP, 1.0)))
        return soft
    truth = proba[labels, np.arange(len(labels))]
    # Sums that miss one by rounding may leave p_y a hair above one: no loss is negative.
    losses: FloatArray = -np.log(truth.clip(LOSS_CLIP, 1.0))
    return losses


def squared_errors(
    proba: FloatArray, labels: IntArray, targets: FloatArray | None = None
) -> FloatArray:
    """Squared distance of each column of ``proba`` (k, m) from its one-hot label.

    Its mean over the labels where ``targets`` (k, m) are soft: with t a column of them,
    sum_j t_j |p - e_j|^2 = |p|^2 - 2 p t + 1.
    """
    if targets is not None:
        soft: FloatArray = 1.0 + np.einsum("jm,jm->m", proba, proba - 2.0 * targets)
        return soft
    difference = proba.copy()
    difference[labels, np.arange(len(labels))] -= 1.0
    squared: FloatArray = np.einsum("jm,jm->m", difference, difference)
    return squared


def label_losses(chunk: Chunk, proba: AnyFloatArray, losses: AnyFloatArray) -> AnyFloatArray:
    """Loss of each label that rows may have, in the order of `Chunk.label_weight`."""
    if chunk.targets is None:
        return losses
    of_classes: AnyFloatArray = -np.log(np.maximum(proba, np.finfo(proba.dtype).tiny))
    return of_classes.ravel()


def largest_loss(chunk: Chunk, proba: AnyFloatArray, losses: AnyFloatArray) -> float:
    """Of all labels that rows may have."""
    if chunk.targets is None:
        return float(losses.max())
    least = float(proba.min(where=chunk.targets > 0.0, initial=1.0))
    return -float(np.log(max(least, TINY)))
