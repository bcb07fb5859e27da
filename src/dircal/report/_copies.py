"""Rows that were handed over more than once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import AbstractSums
from dircal._typing import FloatArray, IntArray
from dircal.metrics import Block, Predictions
from dircal.report._limits import REPORT_LIMITS

__all__ = ["count_copies"]

# Odd numbers of 64 bits from the golden section and from the mixing step of splitmix64.
_GOLDEN, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def count_copies(predictions: Predictions) -> int:
    """Number of rows that repeat another, scores and label; 0 where labels tell them apart.

    Of more than two million rows, some are looked at, and their copies stand for those of all.
    """
    limits = REPORT_LIMITS.get()
    every = -(-predictions.n_samples // limits.max_copy_rows)
    found = predictions.fold(_KeysOf(every))
    keys, labels = np.concatenate(found.keys), np.concatenate(found.labels)
    if not len(labels):
        return 0
    _, group, size = np.unique(keys, return_inverse=True, return_counts=True)
    pairs = np.unique(np.stack([group, labels]), axis=1)
    n_labels = np.bincount(pairs[0], minlength=len(size))
    repeated = size > 1
    if not repeated.any() or (n_labels[repeated] > 1).mean() > limits.max_accidents:
        return 0
    return every * int((size - n_labels)[repeated].sum())


@dataclass
class _Keys(AbstractSums):
    """A number for the scores of each row, and its label."""

    keys: list[npt.NDArray[np.uint64]]
    labels: list[IntArray]


@dataclass(frozen=True)
class _KeysOf:
    """Those of a block, of one in ``every`` so many numbers."""

    every: int

    def __call__(self, block: Block) -> _Keys:
        keys = _numbers_of(block.proba)
        kept = (block.confidence < REPORT_LIMITS.get().max_copied_probability) & (
            keys % np.uint64(self.every) == 0
        )
        return _Keys([keys[kept]], [np.asarray(block.label_or_mode)[kept]])


def _numbers_of(proba: FloatArray) -> npt.NDArray[np.uint64]:
    """A number for each column of probabilities (k, m): the same for the same ones only."""
    mixed: npt.NDArray[Any] = np.zeros(proba.shape[1], dtype=np.uint64)
    for bits in np.ascontiguousarray(proba).view(np.uint64):
        mixed = (mixed ^ bits) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
        mixed ^= mixed >> np.uint64(32)
    return mixed
