"""Rows with scores and labels that have passed validation, in memory or in parts of a table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractSums, Reader, row_slices
from dircal._core.data.folds import FoldParts, RowFolds
from dircal._core.data.parts import AbstractParts, Part, PartSource, PartView
from dircal._core.data.simplex import rest_of_logits, rest_of_proba
from dircal._typing import FloatArray, InputScale, IntArray, LabelArray
from dircal.tables._columns import Arguments
from dircal.tables._limits import LIMITS, TableLimits

__all__ = ["BOTH", "ArrayRows", "LabelledRows", "PartitionedRows"]

BOTH = np.array([0, 1])
"""Labels of a problem of one class against the rest: the rest, and the class itself."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class ArrayRows:
    """Labelled rows in memory that have passed validation.

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
    limits: TableLimits = LIMITS
    is_in_memory: ClassVar[bool] = True
    """Whether the rows are one array, and not parts that are read in every pass."""

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
        at_once = max(1, self.limits.pair_cells // (2 * n_samples))
        for first in range(0, n_classes, at_once):
            yield from self.pairs(read, scale, range(first, min(first + at_once, n_classes)))

    def pairs(self, read: Reader, scale: InputScale, chosen: range) -> "Iterator[ArrayRows]":
        """Yield the problem of two classes for each of the ``chosen`` classes."""
        pairs = np.empty((len(chosen), 2, self.shape[0]))
        some = slice(chosen.start, chosen.stop)
        for part in row_slices(self.shape):
            block = self._columns(part, read)
            pairs[:, 1, part] = block[some]
            pairs[:, 0, part] = rest_of(scale, block)[some]
        for number, pair in zip(chosen, pairs, strict=True):
            yield self.as_two_classes(pair.T, number)

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


@dataclass(frozen=True)
class PartitionedRows:
    """Labelled rows in parts of a table, on one machine or on many, that have passed validation.

    ``parts`` contain `ArrayRows`. Each function in ``changes``, which can be sent to where the
    parts are, makes other rows of these. ``n_rows_of_parts`` is their number before; ``dtype`` is
    the type of all scores together. The other fields are those of `ArrayRows`.
    """

    parts: AbstractParts
    classes: LabelArray
    column_classes: LabelArray
    feature_names: LabelArray | None
    n_features: int
    n_rows: int
    total_weight: float
    n_rows_of_parts: int
    dtype: np.dtype[Any]
    is_weighted: bool
    has_soft_labels: bool
    changes: tuple[Callable[[ArrayRows], ArrayRows], ...] = ()
    is_in_memory: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.n_rows, len(self.column_classes)

    def weight_range(self) -> tuple[float, float] | None:
        """Return the least and the largest positive weight, or None without weights."""
        if not self.is_weighted:
            return None
        found = [one for one in self.parts.fold(_weight_range) if one is not None]
        return min(low for low, _ in found), max(high for _, high in found)

    def unweighted(self) -> "PartitionedRows":
        """Return the rows without their weights, all of which are positive."""
        if not self.is_weighted:
            return self
        weight = float(self.n_rows)
        return self._changed(ArrayRows.unweighted, is_weighted=False, total_weight=weight)

    def _changed(
        self, change: Callable[[ArrayRows], ArrayRows], **fields: Any
    ) -> "PartitionedRows":
        """Return the rows with another change after those before."""
        return replace(self, changes=(*self.changes, change), **fields)

    def undecided(self) -> "PartitionedRows":
        """Rows of logits in which two classes or more are not masked; all where there are none."""
        found = self.parts.fold(partial(_count_undecided, self._change))
        if found.n_rows in (0, self.n_rows) or found.weight == 0.0:
            return self
        return self._changed(_undecided_rows, n_rows=found.n_rows, total_weight=found.weight)

    @property
    def in_memory(self) -> ArrayRows:
        """Raise: the rows are read in parts."""
        raise ValueError(
            "the table is read in parts, but all rows are needed at once. Pass a table that fits "
            "into memory, or a sample of the rows."
        )

    def with_hard_rows(self) -> "PartitionedRows":
        """These rows, which have one label each."""
        return self

    def against_rest(self, read: Reader, scale: InputScale) -> Iterator["PartitionedRows"]:
        """Yield a problem of two classes for each class, each part changed where it lies."""
        for chosen in range(len(self.classes)):
            yield self._changed(
                partial(_one_against_rest, read, scale, chosen),
                classes=BOTH,
                column_classes=BOTH,
                feature_names=None,
                n_features=2,
            )

    def left_for_fit(self, folds: RowFolds, number: int) -> "PartitionedRows":
        """The rows of all folds but one."""
        return self._in(FoldParts(self.parts, folds, number, is_held_out=False))

    def held_out(self, folds: RowFolds, numbers: Iterable[int]) -> "list[PartitionedRows]":
        """The rows of each of some folds, numbered one after another and weighed together."""
        found: list[PartitionedRows] = []
        n_before = 0
        for number in numbers:
            parts = FoldParts(self.parts, folds, number, is_held_out=True, n_before=n_before)
            found.append(self._in(parts))
            n_before += found[-1].n_rows
        total = sum(one.total_weight for one in found)
        return [replace(one, total_weight=total) for one in found]

    def _in(self, parts: FoldParts) -> "PartitionedRows":
        n_rows = parts.folds.rows_before(parts.fold_number, self.n_rows_of_parts)
        if not parts.is_held_out:
            n_rows = self.n_rows_of_parts - n_rows
        weight = parts.fold(_weight_of) if self.is_weighted else float(n_rows)
        return replace(
            self, parts=parts, n_rows=n_rows, n_rows_of_parts=n_rows, total_weight=weight
        )

    def fold_rows(self, function: Callable[[ArrayRows], _T]) -> _T:
        """Sum a function of the rows, part by part."""
        return self.parts.fold(partial(_of_rows, function))

    def check(self, function: Callable[[ArrayRows, Arguments], None], arguments: Arguments) -> None:
        """Call a function of each part; raise the error of the first one that is invalid."""
        errors = self.parts.fold(partial(_error_of, function, arguments))
        error = next((error for error in errors if error), "")
        if error:
            raise ValueError(error)

    def sample(self, n_rows: int) -> ArrayRows:
        """Every so many rows, no more than ``n_rows``; all where they are no more."""
        some = self.parts.fold(partial(_every, -(-self.n_rows_of_parts // n_rows)))
        return some[0].with_more(some[1:])

    def source(self, read: Reader) -> PartSource:
        """The rows as a source of chunks, with ``read`` to make scores of them."""
        totals = len(self.column_classes), self.n_rows, self.total_weight
        view = PartView(read, self._change, self.total_weight)
        return PartSource(((self.parts, view),), self.n_rows_of_parts, totals, self.is_weighted)

    @property
    def _change(self) -> Callable[[ArrayRows], ArrayRows] | None:
        """All changes as one function."""
        return partial(_change_rows, self.changes) if self.changes else None


LabelledRows: TypeAlias = ArrayRows | PartitionedRows
"""Rows that have passed validation. Both have the same methods, as far as rows in parts can."""


def _change_rows(changes: Sequence[Callable[[ArrayRows], ArrayRows]], rows: ArrayRows) -> ArrayRows:
    for change in changes:
        rows = change(rows)
    return rows


def _of_rows(function: Callable[[ArrayRows], _T], part: Part) -> _T:
    return function(part.rows)


def _one_against_rest(read: Reader, scale: InputScale, chosen: int, rows: ArrayRows) -> ArrayRows:
    return next(rows.pairs(read, scale, range(chosen, chosen + 1)))


def _weight_of(part: Part) -> float:
    weight = part.rows.sample_weight
    return float(part.rows.shape[0] if weight is None else weight.sum())


def _weight_range(part: Part) -> list[tuple[float, float] | None]:
    return [part.rows.weight_range()]


def _every(step: int, part: Part) -> list[ArrayRows] | None:
    here = np.arange(-part.first % step, part.rows.shape[0], step)
    return [part.rows.take(here).copied()] if len(here) else None


@dataclass
class _Undecided(AbstractSums):
    n_rows: int
    weight: float


def _count_undecided(change: Callable[[ArrayRows], ArrayRows] | None, part: Part) -> _Undecided:
    rows = part.rows if change is None else change(part.rows)
    used, weight = rows.is_undecided(), rows.sample_weight
    n_rows = int(np.count_nonzero(used))
    return _Undecided(n_rows, float(n_rows if weight is None else weight[used].sum()))


def _undecided_rows(rows: ArrayRows) -> ArrayRows:
    used = rows.is_undecided()
    return rows if used.all() else rows.take(np.flatnonzero(used))


def _error_of(
    function: Callable[[ArrayRows, Arguments], None], arguments: Arguments, part: Part
) -> list[str]:
    try:
        function(part.rows, replace(arguments, row=part.place))
    except ValueError as error:
        return [str(error)]
    return [""]
