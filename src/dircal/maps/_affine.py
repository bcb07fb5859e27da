"""Linear maps of scores: one slope, one for each class, a whole matrix."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray
from dircal.maps._columns import only
from dircal.maps._step import AbstractStep, check_sizes, freeze

__all__ = ["AbstractLinearStep", "Affine", "Diagonal", "Scale"]


class AbstractLinearStep(AbstractStep):
    """W s + b, however many of the entries are free."""

    @abstractmethod
    def weights(self, n_classes: int) -> FloatArray:
        """[W | b], (e, d + 1), for scores of ``n_classes`` classes."""


@dataclass(frozen=True, eq=False, repr=False)
class Scale(AbstractLinearStep):
    """One ``slope`` for all classes: temperature scaling with slope 1/t."""

    slope: float

    def apply(self, block: FloatArray) -> FloatArray:
        """Slope times score."""
        block *= self.slope
        return block

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        if not self.slope > 0.0:
            raise ValueError(f"`slope` must be above 0; got {self.slope}")
        check_sizes(slope=self.slope)
        return n_in

    def weights(self, n_classes: int) -> FloatArray:
        """The slope on the diagonal."""
        return self.slope * np.eye(n_classes, n_classes + 1)


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(AbstractLinearStep):
    """A slope and an intercept for each row of the block, both (d,)."""

    slopes: FloatArray
    intercepts: FloatArray

    def __post_init__(self) -> None:
        freeze(self, slopes=self.slopes, intercepts=self.intercepts)

    def apply(self, block: FloatArray) -> FloatArray:
        """Slope times score plus intercept."""
        block *= self.slopes[:, None]
        block += self.intercepts[:, None]
        return block

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        if self.slopes.shape != (n_in,) or self.intercepts.shape != (n_in,):
            raise ValueError(
                f"`slopes` and `intercepts` must have length {n_in}; got shapes "
                f"{self.slopes.shape} and {self.intercepts.shape}"
            )
        check_sizes(slopes=self.slopes, intercepts=self.intercepts)
        return n_in

    def weights(self, n_classes: int) -> FloatArray:
        """The slopes on the diagonal, the intercepts beside it."""
        del n_classes
        return np.column_stack([np.diag(self.slopes), self.intercepts])


@dataclass(frozen=True, eq=False, repr=False)
class Affine(AbstractLinearStep):
    """W s + b with a ``matrix`` (e, d) and ``intercepts`` (e,)."""

    matrix: FloatArray
    intercepts: FloatArray

    def __post_init__(self) -> None:
        freeze(self, matrix=self.matrix, intercepts=self.intercepts)

    def apply(self, block: FloatArray) -> FloatArray:
        """W s + b."""
        out = self.matrix @ block
        out += self.intercepts[:, None]
        return out

    def n_out(self, n_in: int) -> int:
        """As many as the matrix has rows."""
        n = len(self.matrix)
        if n == 0 or self.matrix.shape != (n, n_in) or self.intercepts.shape != (n,):
            raise ValueError(
                f"`matrix` must have {n_in} columns and `intercepts` one entry for each row; "
                f"got shapes {self.matrix.shape} and {self.intercepts.shape}"
            )
        check_sizes(matrix=self.matrix, intercepts=self.intercepts)
        return n

    def weights(self, n_classes: int) -> FloatArray:
        """Matrix and intercepts."""
        only(n_classes, len(self.matrix))
        return np.column_stack([self.matrix, self.intercepts])
