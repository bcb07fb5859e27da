"""Rows that were handed over more than once."""

import numpy as np

from dircal.metrics import Predictions

__all__ = ["count_copies"]

# Rows nearer to certainty are left out: saturated scores are equal without being copies.
_CERTAIN = 1.0 - 1e-6
# Models with few different outputs, as trees, give the same scores to many rows, but the labels of
# these differ, and those of copies agree. Copies may meet by accident in so many groups.
_ACCIDENTS = 0.05


def count_copies(predictions: Predictions) -> int:
    """Number of rows that repeat another, scores and label; 0 where labels tell them apart."""
    proba = predictions.probabilities
    doubted = proba.max(axis=1) < _CERTAIN
    proba, labels = proba[doubted], predictions.rows.labels[doubted]
    if not len(labels):
        return 0
    keys = np.fromiter((hash(row.tobytes()) for row in proba), np.int64, len(proba))
    _, group, size = np.unique(keys, return_inverse=True, return_counts=True)
    pairs = np.unique(np.stack([group, labels]), axis=1)
    n_labels = np.bincount(pairs[0], minlength=len(size))
    repeated = size > 1
    if not repeated.any() or (n_labels[repeated] > 1).mean() > _ACCIDENTS:
        return 0
    return int((size - n_labels)[repeated].sum())
