"""Rows in parts of a table that have passed the door."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dircal._core.data.chunks import AbstractSums, Reader
from dircal._core.data.folds import FoldParts, RowFolds
from dircal._core.data.parts import AbstractParts, Part, PartSource
from dircal._typing import InputScale, LabelArray
from dircal.tables._columns import Arguments
from dircal.tables._labelled_rows import BOTH, ArrayRows, LabelledRows
from dircal.tables._raw_rows import Agreement

__all__ = ["PartitionedRows"]

_T = TypeVar("_T")
_Change = Callable[[ArrayRows], ArrayRows]


@dataclass(frozen=True)
class PartitionedRows(LabelledRows):
    """What `fit` works on where rows are in parts, on one machine or on many.

    ``parts`` hold `ArrayRows`; ``change``, a function that can be sent to where they are,
    makes of them what is meant. ``n_rows_of_parts`` is the number of rows before it; ``dtype`` is
    the type of all scores together.
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
    change: _Change | None = None
    has_soft_labels: bool = False
    is_in_memory = False

    @classmethod
    def of(cls, parts: AbstractParts, agreed: Agreement) -> "PartitionedRows":
        """Parts that agree."""
        return cls(
            parts,
            agreed.classes,
            agreed.column_classes,
            agreed.feature_names,
            agreed.n_features,
            agreed.n_rows,
            agreed.total_weight,
            agreed.n_rows,
            agreed.dtype,
            agreed.is_weighted,
            has_soft_labels=agreed.soft is not None and not agreed.soft.are_certain,
        )

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
        return replace(
            self,
            is_weighted=False,
            total_weight=float(self.n_rows),
            change=partial(_unweighted_rows, self.change),
        )

    def undecided(self) -> "PartitionedRows":
        """Rows of logits in which two classes or more are not masked; all where there are none."""
        found = self.parts.fold(partial(_count_undecided, self.change))
        if found.n_rows in (0, self.n_rows) or found.weight == 0.0:
            return self
        change = partial(_undecided_rows, self.change)
        return replace(self, n_rows=found.n_rows, total_weight=found.weight, change=change)

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
            yield replace(
                self,
                classes=BOTH,
                column_classes=BOTH,
                feature_names=None,
                n_features=2,
                change=partial(_one_against_rest, read, scale, chosen),
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
        rows = self.n_rows_of_parts
        return PartSource(self.parts, read, self.change, rows, totals, self.is_weighted)


def _of_rows(function: Callable[[ArrayRows], _T], part: Part) -> _T:
    return function(part.rows)


def _one_against_rest(read: Reader, scale: InputScale, chosen: int, rows: ArrayRows) -> ArrayRows:
    return rows.one_against_rest(read, scale, chosen)


def _weight_of(part: Part) -> float:
    weight = part.rows.sample_weight
    return float(part.rows.shape[0] if weight is None else weight.sum())


def _weight_range(part: Part) -> list[tuple[float, float] | None]:
    return [part.rows.weight_range()]


def _unweighted_rows(change: _Change | None, rows: ArrayRows) -> ArrayRows:
    rows = rows if change is None else change(rows)
    return rows.unweighted()


def _every(step: int, part: Part) -> list[ArrayRows] | None:
    here = np.arange(-part.first % step, part.rows.shape[0], step)
    return [part.rows.take(here).copied()] if len(here) else None


@dataclass
class _Undecided(AbstractSums):
    n_rows: int
    weight: float


def _count_undecided(change: _Change | None, part: Part) -> _Undecided:
    rows = part.rows if change is None else change(part.rows)
    used, weight = rows.is_undecided(), rows.sample_weight
    n_rows = int(np.count_nonzero(used))
    return _Undecided(n_rows, float(n_rows if weight is None else weight[used].sum()))


def _undecided_rows(change: _Change | None, rows: ArrayRows) -> ArrayRows:
    rows = rows if change is None else change(rows)
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
