"""Checked predictions and their true labels: what every measure, test and picture starts from."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import AbstractChunkSource, Chunk
from dircal._core.data.simplex import ROUNDING, normalise_beyond_rounding
from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.metrics._blocks import Block
from dircal.metrics._rows import AbstractRows, MeanOf
from dircal.tables import (
    ArrayRows,
    check_predictions,
    reject_soft_labels,
    show,
)

__all__ = ["Predictions", "ReadProbabilities"]


@dataclass(frozen=True, eq=False)
class Predictions(AbstractRows[Block]):
    """Rows that have passed the door; those of weight zero are left out when folded.

    Make it with `check`, with `of_checked` from what the door gave before, or of the source of
    rows that are somewhere else.

    Parameters
    ----------
    source : AbstractChunkSource
        Probabilities (k, m) in the order of the classes, a chunk at a time.
    classes : array (k,)
        The labels, sorted.
    dtype : numpy dtype
        Type of the probabilities as they were given.
    given : ArrayRows or None
        The rows as arrays, where they are in memory or mapped from a file.
    are_soft : bool
        Whether rows may have several labels, each with its probability.
    """

    source: AbstractChunkSource
    classes: LabelArray
    dtype: np.dtype[Any]
    given: ArrayRows | None = None
    are_soft: bool = False

    @classmethod
    def check(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        classes: Iterable[Any] | None = None,
        *,
        name: str = "y_prob",
        from_a_map: bool = False,
    ) -> Self:
        """Through the door: the arguments of a measure, or what a map made of them."""
        data = check_predictions(
            y_true, y_prob, sample_weight, classes, name=name, from_a_map=from_a_map
        )
        return cls.of_checked(data)

    @classmethod
    def of_checked(cls, data: ArrayRows) -> Self:
        """Make predictions of checked probabilities."""
        source = data.source(ReadProbabilities.of(data.column_classes, data.dtype))
        source = replace(source, cache_bytes=0)
        return cls(source, data.classes, data.dtype, data, data.has_soft_labels)

    def with_probabilities(self, proba: FloatArray) -> Self:
        """Other probabilities (n, k) of the same rows, as a map gives them: columns are sorted."""
        data = replace(self.rows, matrix=proba, column_classes=self.classes, picked=None)
        return self.of_checked(data)

    def with_weight(self, sample_weight: FloatArray) -> Self:
        """The same rows with other weights, as draws of rows have them."""
        return self.of_checked(replace(self.rows, sample_weight=sample_weight))

    def hold(self) -> Self:
        """The same rows, kept in memory as far as there is room, for those who fold them often."""
        return replace(self, source=self.source.kept())

    @property
    def as_block(self) -> Callable[[Chunk, FloatArray | None], Block]:
        """A block of probabilities."""
        return Block.of_chunk

    @property
    def rows(self) -> ArrayRows:
        """The rows as arrays, for what is no sum over them."""
        if self.given is None:
            raise ValueError(
                "`y_prob` is read in parts, and this looks at all rows at once. Pass arrays that "
                "fit into memory."
            )
        return self.given

    @property
    def probabilities(self) -> npt.NDArray[Any]:
        """Probabilities (n, k) as they were given."""
        return self.rows.inputs

    @property
    def labels(self) -> IntArray:
        """Position (n,) of the true class among the sorted ones, where there is one."""
        if self.has_soft_labels:
            reject_soft_labels()
        return self.rows.labels

    @property
    def has_soft_labels(self) -> bool:
        """Whether rows may have several labels, each with its probability."""
        return self.are_soft

    @property
    def sample_weight(self) -> FloatArray | None:
        """Weight of each row (n,)."""
        return self.rows.sample_weight

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.classes)

    @property
    def y_true(self) -> LabelArray:
        """True label of each row (n,), or soft ones (n, k), as they were given."""
        targets = self.rows.targets
        if targets is not None:
            in_order: LabelArray = targets[
                :, np.searchsorted(self.classes, self.rows.column_classes)
            ]
            return in_order
        labels: LabelArray = self.classes[self.labels]
        return labels

    def position(self, label: object) -> int:
        """Where a class is among the sorted ones."""
        found = np.flatnonzero([one == label for one in self.classes.tolist()])
        if len(found) != 1:
            raise ValueError(
                f"`label` must be one of the classes {show(self.classes)}; got {label!r}."
            )
        return int(found[0])

    def mean(self, of_rows: Callable[[Block], npt.NDArray[Any]]) -> float:
        """Weighted mean of one number of each row."""
        return self.fold_once(MeanOf(of_rows)).value


@dataclass(frozen=True)
class ReadProbabilities:
    """From rows as they were given (m, k) to probabilities (k, m) in the order of the classes.

    ``order`` is the column of each class, None where they are sorted; ``rounding`` is by how much a
    row may miss the sum of one and be left as it was given.
    """

    order: tuple[int, ...] | None
    rounding: float

    @classmethod
    def of(cls, column_classes: LabelArray, dtype: np.dtype[Any]) -> Self:
        """For columns with these labels, of numbers of this type."""
        n_classes = len(column_classes)
        order = tuple(np.argsort(column_classes).tolist())
        eps = float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)
        # Half precision may be coarser than what counts as rounding elsewhere.
        rounding = min(4.0 * eps * float(np.sqrt(n_classes)), max(eps, ROUNDING))
        return cls(None if order == tuple(range(n_classes)) else order, rounding)

    def __call__(self, rows: npt.NDArray[Any]) -> FloatArray:
        turned = rows.T if self.order is None else rows.T[list(self.order)]
        proba = np.array(turned, dtype=np.float64, order="C")
        proba = normalise_beyond_rounding(proba, self.rounding)
        # A row that is left as given may exceed one by a rounding error.
        return np.minimum(proba, 1.0, out=proba)
