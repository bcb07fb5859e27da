"""Scores and labels that have passed the door."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource, Reader, row_slices
from dircal._core.data.simplex import rest_of_logits, rest_of_proba
from dircal._typing import FloatArray, InputScale, IntArray, LabelArray
from dircal.tables._columns import Arguments
from dircal.tables._limits import LIMITS

__all__ = ["BOTH", "ArrayRows", "LabelledRows"]

BOTH = np.array([0, 1])
"""Labels of a problem of one class against the rest: the rest, and the class itself."""

_T = TypeVar("_T")


class LabelledRows(ABC):
    """Rows that have passed the door, wherever they are.

    ``column_classes`` (k,) is the label of each column of the scores, ``classes`` the same sorted;
    ``feature_names`` are those of a data frame; ``n_features`` is 1 where a single column was
    given, and k otherwise.
    """

    classes: LabelArray
    column_classes: LabelArray
    feature_names: LabelArray | None
    n_features: int
    is_in_memory = True
    """Whether the rows are one array, and not parts that are read in every pass."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""

    if TYPE_CHECKING:
        # Fields of one subclass and properties of the other: dataclasses take properties of a base
        # for defaults of fields.
        @property
        def dtype(self) -> np.dtype[Any]:
            """Type of the scores as they were given."""

        @property
        def is_weighted(self) -> bool:
            """Whether rows may differ in weight."""

        @property
        def total_weight(self) -> float:
            """Sum of the sample weights."""

        @property
        def has_soft_labels(self) -> bool:
            """Whether rows may have several labels, each with its probability."""

    @abstractmethod
    def weight_range(self) -> tuple[float, float] | None:
        """Return the least and the largest positive weight, or None without weights."""

    @abstractmethod
    def unweighted(self) -> "LabelledRows":
        """Return the rows of positive weight, without their weights."""

    @abstractmethod
    def fold_rows(self, function: "Callable[[ArrayRows], _T]") -> _T:
        """Sum a function of the rows, part by part."""

    @abstractmethod
    def check(
        self, function: "Callable[[ArrayRows, Arguments], None]", arguments: Arguments
    ) -> None:
        """Call a function of the rows that raises a ValueError if they are invalid.

        Its ``arguments`` name rows by their place.
        """

    @abstractmethod
    def sample(self, n_rows: int) -> "ArrayRows":
        """All rows if they are in memory; of parts no more than ``n_rows``, evenly spread."""

    @property
    @abstractmethod
    def in_memory(self) -> "ArrayRows":
        """The rows as one array, for what needs all of them; a ValueError if they are in parts."""

    @abstractmethod
    def with_hard_rows(self) -> "LabelledRows":
        """The same rows with one label each, for what needs it."""

    @abstractmethod
    def against_rest(self, read: Reader, scale: InputScale) -> Iterator["LabelledRows"]:
        """Yield a problem of two classes for each class: the rest, and the class itself.

        ``read`` makes columns (k, m) of rows, in the order of the classes.
        """

    @abstractmethod
    def undecided(self) -> "LabelledRows":
        """Rows of logits in which two classes or more are not masked; all where there are none."""

    @abstractmethod
    def source(self, read: Reader) -> AbstractChunkSource:
        """The rows as a source of chunks, with ``read`` to make scores of them."""


@dataclass(frozen=True)
class ArrayRows(LabelledRows):
    """What `fit` and the measures work on, in memory.

    ``matrix`` is as given, of any float type and possibly mapped from a file; ``picked`` (n,) are
    the rows of it that are meant, None for all, so that folds need no copies. ``column_classes``
    (k,) is the label of each of its columns, ``classes`` the same sorted; ``labels`` (n,) index
    ``classes``; ``feature_names`` are those of a data frame; ``n_features`` is 1 where a single
    column was given, and k otherwise. Where labels are soft, ``targets`` (n, k) say how probable
    each of the ``classes`` is as the label of a row, and ``labels`` is the most probable one.
    """

    matrix: npt.NDArray[Any]
    labels: IntArray
    sample_weight: FloatArray | None
    classes: LabelArray
    column_classes: LabelArray
    feature_names: LabelArray | None
    n_features: int
    picked: IntArray | None = None
    targets: FloatArray | None = None

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

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores as they were given."""
        return self.matrix.dtype

    @property
    def is_weighted(self) -> bool:
        """Whether rows may differ in weight."""
        return self.sample_weight is not None

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        weight = self.sample_weight
        return float(len(self.labels) if weight is None else weight.sum())

    def fold_rows(self, function: "Callable[[ArrayRows], _T]") -> _T:
        """Return the function of these rows."""
        return function(self)

    def check(
        self, function: "Callable[[ArrayRows, Arguments], None]", arguments: Arguments
    ) -> None:
        """Call the function of these rows."""
        function(self, arguments)

    def sample(self, n_rows: int) -> "ArrayRows":
        """Return all rows."""
        del n_rows
        return self

    @property
    def in_memory(self) -> "ArrayRows":
        """These rows."""
        return self

    def take(self, rows: IntArray) -> "ArrayRows":
        """Some of the rows, in the order given; the classes stay all of them."""
        weight = self.sample_weight
        return replace(
            self,
            labels=self.labels[rows],
            sample_weight=None if weight is None else weight[rows],
            picked=rows if self.picked is None else self.picked[rows],
            targets=None if self.targets is None else self.targets[rows],
        )

    def with_hard_rows(self) -> "ArrayRows":
        """The same with one label for each row, for what needs it.

        A soft row becomes one for each class that it may be of, with that part of its weight.
        """
        if self.targets is None:
            return self
        rows, labels = np.nonzero(self.targets)
        weight = self.targets[rows, labels]
        if self.sample_weight is not None:
            weight = weight * self.sample_weight[rows]
        apart = replace(self, targets=None).take(rows)
        return replace(apart, labels=labels, sample_weight=weight)

    def against_rest(self, read: Reader, scale: InputScale) -> Iterator["ArrayRows"]:
        """Yield a problem of two classes for each class; several are computed in one pass.

        Rows of weight zero stay, since a calibrator may count rows, but whatever they contain is
        replaced by what can be computed with.
        """
        n_samples, n_classes = self.shape
        at_once = max(1, LIMITS.pair_cells // (2 * n_samples))
        for first in range(0, n_classes, at_once):
            chosen = slice(first, min(first + at_once, n_classes))
            pairs = np.empty((chosen.stop - first, 2, n_samples))
            for part in row_slices(self.shape):
                block = self._columns(part, read)
                pairs[:, 1, part] = block[chosen]
                pairs[:, 0, part] = rest_of(scale, block)[chosen]
            for i, pair in enumerate(pairs):
                yield self.as_two_classes(pair.T, first + i)

    def one_against_rest(self, read: Reader, scale: InputScale, chosen: int) -> "ArrayRows":
        """The same rows as a problem of two classes: the rest, and the ``chosen`` one."""
        pair = np.empty((2, self.shape[0]))
        for part in row_slices(self.shape):
            block = self._columns(part, read)
            pair[:, part] = rest_of(scale, block)[chosen], block[chosen]
        return self.as_two_classes(pair.T, chosen)

    def _columns(self, part: slice, read: Reader) -> FloatArray:
        """Columns (k, m) of some rows; of weight zero, whatever can be read."""
        inputs = self.rows(part)
        if self.sample_weight is not None:
            used = self.sample_weight[part, None] > 0
            inputs = np.where(used, inputs, 1.0 / self.shape[1])
        return read(inputs)

    def as_two_classes(self, pair: FloatArray, chosen: int) -> "ArrayRows":
        """The same rows as a problem of two classes, the rest and the ``chosen`` one.

        ``pair`` (n, 2) are their scores.
        """
        if self.targets is None:
            own, targets = (self.labels == chosen).astype(np.uint8), None
        else:
            of_chosen = self.targets[:, chosen]
            own = (of_chosen > 0.5).astype(np.uint8)
            targets = np.column_stack([1.0 - of_chosen, of_chosen])
        return ArrayRows(pair, own, self.sample_weight, BOTH, BOTH, None, 2, targets=targets)

    @property
    def has_soft_labels(self) -> bool:
        """Whether rows may have several labels, each with its probability."""
        return self.targets is not None

    def weight_range(self) -> tuple[float, float] | None:
        """Return the least and the largest positive weight, or None without weights."""
        if self.sample_weight is None:
            return None
        used = self.sample_weight[self.sample_weight > 0]
        return (float(used.min()), float(used.max())) if len(used) else None

    def unweighted(self) -> "ArrayRows":
        """Return the rows of positive weight, without their weights."""
        if self.sample_weight is None:
            return self
        return replace(self.take(np.flatnonzero(self.sample_weight)), sample_weight=None)

    def undecided(self) -> "ArrayRows":
        """Rows of logits in which two classes or more are not masked; all where there are none.

        In the others no map has a choice: they tell a fit nothing.
        """
        used, weight = self.is_undecided(), self.sample_weight
        none = not (used if weight is None else used & (weight > 0)).any()
        return self if none or used.all() else self.take(np.flatnonzero(used))

    def is_undecided(self) -> npt.NDArray[np.bool_]:
        """Whether two classes or more are not masked, for each row (n,)."""
        used = np.ones(len(self.labels), bool)
        for part in row_slices(self.shape):
            block = self.rows(part)
            if block.min() == -np.inf:
                used[part] = np.count_nonzero(block > -np.inf, axis=1) > 1
        return used

    def with_more(self, others: Sequence["ArrayRows"]) -> "ArrayRows":
        """These rows and those of others, copied."""
        every = self, *others
        weights = [one.sample_weight for one in every if one.sample_weight is not None]
        targets = [one.targets for one in every if one.targets is not None]
        return replace(
            self,
            matrix=np.concatenate([one.inputs for one in every]),
            labels=np.concatenate([one.labels for one in every]),
            sample_weight=np.concatenate(weights) if weights else None,
            picked=None,
            targets=np.concatenate(targets) if targets else None,
        )

    def copied(self) -> "ArrayRows":
        """The same with a copy of the rows that are picked, for those who read them often."""
        return replace(self, matrix=self.inputs, picked=None)

    def source(self, read: Reader) -> ArraySource:
        """The rows as a source of chunks, with ``read`` to make scores of them."""
        return ArraySource(
            self.matrix,
            self.labels,
            self.sample_weight,
            read,
            self.picked,
            targets=self.targets,
        )


def rest_of(scale: InputScale, block: FloatArray) -> FloatArray:
    """Scores (k, m) of all classes but one, for each class."""
    return rest_of_logits(block) if scale == "logit" else rest_of_proba(block)
