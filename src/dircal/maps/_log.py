"""From probabilities or logits to log-probabilities."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dircal._core.data.chunks import clipped, log_of_clip
from dircal._core.data.simplex import (
    TINY,
    log_softmax,
    normalise,
    normalise_beyond_rounding,
)
from dircal._typing import FloatArray, InputScale
from dircal.maps._step import AbstractStep

__all__ = ["LogProbability", "LogSoftmax", "MaskedAsLeast", "Normalise"]


@dataclass(frozen=True, eq=False, repr=False)
class Normalise(AbstractStep):
    """Probabilities divided by their sum, where that misses one by more than ``tolerance``.

    With a tolerance above zero, rows that sum to one up to rounding stay as they were given: a
    division that only moves the last digit would carry a probability over a step of the map.
    """

    gives_proba: ClassVar[bool] = True

    tolerance: float = 0.0

    @property
    def input_scale(self) -> InputScale:
        """Probabilities."""
        return "probability"

    def apply(self, block: FloatArray) -> FloatArray:
        """Probabilities that sum to one."""
        if self.tolerance == 0.0:
            return normalise(block)
        return normalise_beyond_rounding(block, self.tolerance)

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        if not 0.0 <= self.tolerance < 1.0:
            raise ValueError(f"`tolerance` must lie between 0 and 1; got {self.tolerance}")
        return n_in


@dataclass(frozen=True, eq=False, repr=False)
class LogProbability(AbstractStep):
    """ln max(p, clip); zeros have no logarithm, so a ``clip`` of zero is the smallest number."""

    clip: float = 0.0

    @property
    def input_scale(self) -> InputScale:
        """Probabilities."""
        return "probability"

    def apply(self, block: FloatArray) -> FloatArray:
        """Logarithms."""
        np.maximum(block, TINY, out=block)
        return clipped(np.log(block, out=block), log_of_clip(self.clip))

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        return _with_clip(self.clip, n_in)


@dataclass(frozen=True, eq=False, repr=False)
class MaskedAsLeast(AbstractStep):
    """Logits of masked classes, -inf, as the least of the others; the first step after the columns.

    It is for matrices, which let a class read all others: an extreme number for one that is masked
    would drown them. Other maps read each class by itself, and need no such step.
    """

    def apply(self, block: FloatArray) -> FloatArray:
        """Finite logits."""
        if block.min() > -np.inf:
            return block
        masked = np.isneginf(block)
        return np.where(masked, np.where(masked, np.inf, block).min(axis=0), block)

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        return n_in


@dataclass(frozen=True, eq=False, repr=False)
class LogSoftmax(AbstractStep):
    """max(ln softmax(z), ln clip) of logits z; a ``clip`` of zero is none."""

    clip: float = 0.0

    def apply(self, block: FloatArray) -> FloatArray:
        """Log-probabilities."""
        return clipped(log_softmax(block), log_of_clip(self.clip))

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        return _with_clip(self.clip, n_in)


def _with_clip(clip: float, n_in: int) -> int:
    if not 0.0 <= clip < 1.0:
        raise ValueError(f"`clip` must lie between 0 and 1; got {clip}")
    return n_in
