"""From logits to probabilities, and the log-odds of two classes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dircal._core.data.simplex import softmax
from dircal._typing import FloatArray
from dircal.maps._columns import only
from dircal.maps._step import AbstractStep

__all__ = ["LogOdds", "Sigmoid", "Softmax"]


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(AbstractStep):
    """exp(z) divided by its sum."""

    gives_proba: ClassVar[bool] = True

    def apply(self, block: FloatArray) -> FloatArray:
        """Probabilities."""
        return softmax(block)

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        return n_in


@dataclass(frozen=True, eq=False, repr=False)
class LogOdds(AbstractStep):
    """The score of the second of two classes less that of the first."""

    def apply(self, block: FloatArray) -> FloatArray:
        """One row."""
        return np.subtract(block[1:], block[:1])

    def n_out(self, n_in: int) -> int:
        """One, from two."""
        return only(2, n_in) - 1


@dataclass(frozen=True, eq=False, repr=False)
class Sigmoid(AbstractStep):
    """Probabilities 1 / (1 + e^z) and 1 / (1 + e^-z) of two classes, from the log-odds z."""

    gives_proba: ClassVar[bool] = True

    def apply(self, block: FloatArray) -> FloatArray:
        """Both probabilities, each with all its digits."""
        with np.errstate(over="ignore"):
            return np.vstack([1.0 / (1.0 + np.exp(block)), 1.0 / (1.0 + np.exp(-block))])

    def n_out(self, n_in: int) -> int:
        """Two, from one."""
        return 2 * only(1, n_in)
