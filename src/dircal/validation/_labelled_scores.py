"""Scores and labels that have passed the door."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import ArraySource, Reader, row_slices
from dircal._typing import FloatArray, IntArray, LabelArray

__all__ = ["LabelledScores"]


@dataclass(frozen=True)
class LabelledScores:
    """What `fit` and the measures work on.

    ``matrix`` is as given, of any float type and possibly mapped from a file; ``picked`` (n,) are
    the rows of it that are meant, None for all, so that folds need no copies. ``column_classes``
    (k,) is the label of each of its columns, ``classes`` the same sorted; ``labels`` (n,) index
    ``classes``; ``feature_names`` are those of a data frame; ``n_features`` is 1 where a single
    column was given, and k otherwise.
    """

    matrix: npt.NDArray[Any]
    labels: IntArray
    sample_weight: FloatArray | None
    classes: LabelArray
    column_classes: LabelArray
    feature_names: LabelArray | None
    n_features: int
    picked: IntArray | None = None

    @property
    def inputs(self) -> npt.NDArray[Any]:
        """The scores (n, k); a copy where some of the rows are picked."""
        return self.matrix if self.picked is None else self.matrix[self.picked]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self.labels), int(self.matrix.shape[1])

    def rows(self, part: slice) -> npt.NDArray[Any]:
        """Some of the scores, by their places."""
        return self.matrix[part if self.picked is None else self.picked[part]]

    def take(self, rows: IntArray) -> "LabelledScores":
        """Some of the rows, in the order given; the classes stay all of them."""
        weight = self.sample_weight
        return replace(
            self,
            labels=self.labels[rows],
            sample_weight=None if weight is None else weight[rows],
            picked=rows if self.picked is None else self.picked[rows],
        )

    def undecided(self) -> "LabelledScores":
        """Rows of logits in which two classes or more are not masked; all where there are none.

        In the others no map has a choice: they tell a fit nothing.
        """
        used = np.ones(len(self.labels), bool)
        for part in row_slices(self.shape):
            block = self.rows(part)
            if block.min() == -np.inf:
                used[part] = np.count_nonzero(block > -np.inf, axis=1) > 1
        weight = self.sample_weight
        none = not (used if weight is None else used & (weight > 0)).any()
        return self if none or used.all() else self.take(np.flatnonzero(used))

    def copied(self) -> "LabelledScores":
        """The same with a copy of the rows that are picked, for those who read them often."""
        return replace(self, matrix=self.inputs, picked=None)

    def source(self, read: Reader) -> ArraySource:
        """The rows as a source of chunks, with ``read`` to make scores of them."""
        return ArraySource(self.matrix, self.labels, self.sample_weight, read, self.picked)
