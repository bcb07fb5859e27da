"""Which columns are read, and both classes where one column stands for two."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dircal._typing import FloatArray, InputScale, LabelArray
from dircal.maps._step import AbstractStep

__all__ = ["Columns", "Complement", "ZeroLogit", "column_steps", "only"]


@dataclass(frozen=True, eq=False, repr=False)
class Columns(AbstractStep):
    """Some of the rows of the block, in the order given: those of the classes, sorted."""

    order: tuple[int, ...]

    @property
    def input_scale(self) -> None:
        """Columns of any scale."""

    def apply(self, block: FloatArray) -> FloatArray:
        """The chosen rows."""
        return block[list(self.order)]

    def n_out(self, n_in: int) -> int:
        """As many as are chosen."""
        if not self.order or not all(0 <= i < n_in for i in self.order):
            raise ValueError(f"`order` must be places among {n_in} columns; got {self.order}")
        return len(self.order)


@dataclass(frozen=True, eq=False, repr=False)
class Complement(AbstractStep):
    """Two rows, 1 - p and p, from the probability p of the positive class."""

    gives_proba: ClassVar[bool] = True

    @property
    def input_scale(self) -> InputScale:
        """Probabilities."""
        return "probability"

    def apply(self, block: FloatArray) -> FloatArray:
        """Both probabilities; one that rounding carried above one is one."""
        positive = np.minimum(block, 1.0)
        return np.vstack([1.0 - positive, positive])

    def n_out(self, n_in: int) -> int:
        """Two, from one."""
        return 2 * only(1, n_in)


@dataclass(frozen=True, eq=False, repr=False)
class ZeroLogit(AbstractStep):
    """Two logits, 0 and z, from the log-odds z of the positive class."""

    def apply(self, block: FloatArray) -> FloatArray:
        """A row of zeros above the log-odds."""
        return np.vstack([np.zeros_like(block), block])

    def n_out(self, n_in: int) -> int:
        """Two, from one."""
        return 2 * only(1, n_in)


def only(n: int, n_in: int) -> int:
    """``n``, if the step gets so many rows."""
    if n_in != n:
        raise ValueError(f"it reads {n} row(s) of numbers, and would get {n_in}")
    return n


def column_steps(
    column_classes: LabelArray, n_features: int, input_scale: InputScale
) -> tuple[AbstractStep, ...]:
    """From the columns that users pass to those of the classes, sorted."""
    steps: list[AbstractStep] = []
    if n_features == 1:
        steps.append(ZeroLogit() if input_scale == "logit" else Complement())
    order = tuple(np.argsort(column_classes).tolist())
    if order != tuple(range(len(order))):
        steps.append(Columns(order))
    return tuple(steps)
