"""Rows dealt by their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dircal._core.data.folds import FoldParts, RowFolds
from dircal._core.data.parts import AbstractParts, Part
from dircal.tables import ArrayRows


class Cut(AbstractParts):
    """Rows 0, 1, 2, ... in parts of so many, which count how often something is kept of them."""

    def __init__(self, n_rows, size):
        self.parts = []
        for first in range(0, n_rows, size):
            rows = np.arange(first, min(first + size, n_rows))
            classes = np.arange(2)
            data = ArrayRows(
                np.column_stack([rows, rows]), rows % 2, None, classes, classes, None, 2
            )
            self.parts.append(Part(first, data, lambda row, first=first: f"row {first + row}", {}))

    def fold(self, function):
        total = None
        for part in self.parts:
            found = function(part)
            if found is not None:
                total = found if total is None else total + found
        return total


@given(n_folds=st.integers(2, 12), n_rows=st.integers(0, 200))
def test_every_row_has_one_place(n_folds, n_rows):
    folds = RowFolds(n_folds)
    dealt = folds.of_rows(np.arange(n_rows))
    for fold in range(n_folds):
        own = np.flatnonzero(dealt == fold)
        assert [folds.row_at(fold, place) for place in range(len(own))] == own.tolist()
        assert folds.rows_before(fold, n_rows) == len(own)
    sizes = np.bincount(dealt, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("period", [2, 3, 5, 10, 25])
def test_classes_that_take_turns_are_in_every_fold(period):
    dealt = RowFolds(5).of_rows(np.arange(10_000))
    shares = [
        np.bincount(np.flatnonzero(dealt == fold) % period, minlength=period) for fold in range(5)
    ]
    np.testing.assert_allclose(shares, 2000 / period, rtol=0.05)


@given(n_rows=st.integers(6, 60), size=st.integers(1, 20), fold=st.integers(0, 2))
def test_parts_of_a_fold_are_its_rows_in_their_order(n_rows, size, fold):
    parts, folds = Cut(n_rows, size), RowFolds(3)
    dealt = folds.of_rows(np.arange(n_rows))
    for held_out in (True, False):
        some = FoldParts(parts, folds, fold, is_held_out=held_out, n_before=4)
        rows = some.fold(lambda part: part.rows.inputs[:, 0].tolist())
        assert rows == np.flatnonzero((dealt == fold) == held_out).tolist()
        firsts = some.fold(lambda part: [part.first, part.rows.shape[0]])
        ends = np.cumsum(firsts[1::2])
        assert firsts[::2] == [4, *(4 + ends[:-1])]
        told = some.fold(lambda part: [part.place(0)])
        assert told[0] == f"row {rows[0]}"


def test_what_is_kept_of_a_fold_makes_room_for_the_next():
    parts, folds = Cut(20, 10), RowFolds(2)
    memos = [
        FoldParts(parts, folds, fold, is_held_out=True).fold(lambda part: [part.memo])
        for fold in (0, 0, 1)
    ]
    assert memos[0][0] is memos[1][0]
    assert memos[2][0] is not memos[0][0]
    assert len(parts.parts[0].memo) == 1
