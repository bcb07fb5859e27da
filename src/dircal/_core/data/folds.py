"""Rows dealt into folds by their number, wherever they are.

A fold has one row of every so many neighbours. Which of them it is moves by the golden section, so
that a period in the rows, such as classes that take turns, does not repeat in a fold. Nothing has
to be drawn or kept, and the place of a row within its fold is known without counting.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from dircal._core.data.chunks import Memo, once
from dircal._core.data.parts import AbstractParts, Part
from dircal._core.data.subsample import GOLDEN_SECTION
from dircal._typing import IntArray

__all__ = ["FoldParts", "RowFolds"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class RowFolds:
    """So many folds of rows 0, 1, 2, ..."""

    n_folds: int

    def of_rows(self, rows: IntArray) -> IntArray:
        """The fold of each row."""
        folds: IntArray = (rows + self._shifts(rows // self.n_folds)) % self.n_folds
        return folds

    def row_at(self, fold: int, place: int) -> int:
        """The number of the row at a place of a fold."""
        shift = int(self._shifts(np.array([place]))[0])
        return place * self.n_folds + (fold - shift) % self.n_folds

    def rows_before(self, fold: int, row: int) -> int:
        """How many rows of a fold are before a row; those of all rows where it is their number."""
        place = row // self.n_folds
        return place + int(self.row_at(fold, place) < row)

    def _shifts(self, places: IntArray) -> IntArray:
        shifts: IntArray = (places * GOLDEN_SECTION % 1.0 * self.n_folds).astype(np.int64)
        return shifts


@dataclass(frozen=True)
class FoldParts(AbstractParts):
    """The rows of one fold of a table in parts, or those of all others.

    Parameters
    ----------
    parts : AbstractParts
        All rows.
    folds : RowFolds
        How they are dealt.
    fold : int
        Which fold is meant.
    is_held_out : bool
        Whether these are the rows of the fold, or those that are left for a fit.
    n_before : int
        Number that is given to the first row, where other rows come before.
    """

    parts: AbstractParts | None = field(compare=False)
    folds: RowFolds
    fold_number: int
    is_held_out: bool
    n_before: int = 0

    def fold(self, function: Callable[[Part], _T | None]) -> _T:
        """The same as of all rows."""
        assert self.parts is not None
        # The rule alone is sent to the rows.
        return self.parts.fold(partial(_fold_some, function, replace(self, parts=None)))

    def pick(self, part: Part) -> Part | None:
        """Those of a part, numbered among themselves."""
        n_rows = part.rows.shape[0]
        own = self.folds.of_rows(np.arange(part.first, part.first + n_rows)) == self.fold_number
        kept = np.flatnonzero(own == self.is_held_out)
        if len(kept) == 0:
            return None
        before = self.folds.rows_before(self.fold_number, part.first)
        first = before if self.is_held_out else part.first - before
        memo: Memo | None = None
        if part.memo is not None:
            # What is kept of one fold makes room for what is kept of the next.
            memo = once(part.memo, "fold", self, dict)
        place = partial(_place, part.place, kept)
        return Part(self.n_before + first, part.rows.take(kept), place, memo)


def _fold_some(function: Callable[[Part], _T | None], rule: FoldParts, part: Part) -> _T | None:
    some = rule.pick(part)
    return None if some is None else function(some)


def _place(place: Callable[[int], str], kept: IntArray, row: int) -> str:
    return place(int(kept[row]))
