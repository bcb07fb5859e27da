"""Matrices of the page: whole where they are small, and never empty."""

from dataclasses import replace

import numpy as np
import pytest

from dircal.report._matrices import show_change, show_map
from dircal.report._shapes import LEVELS


@pytest.fixture
def summary_with(report):
    def make(change=None, matrix=None, centre=None):
        summary = report.summary
        if change is not None:
            rows = tuple(map(tuple, np.asarray(change, dtype=float).tolist()))
            summary = replace(summary, changes=replace(summary.changes, confusion_change=rows))
        if matrix is not None:
            rows = tuple(map(tuple, np.asarray(matrix, dtype=float).tolist()))
            middle = tuple(np.asarray(centre, dtype=float).tolist())
            summary = replace(summary, map=replace(summary.map, matrix=rows, centre=middle))
        return summary

    return make


def test_more_on_the_diagonal_and_fewer_beside_it_is_good(summary_with):
    shown = show_change(summary_with(change=[[4, -4], [2, -2]]))
    assert shown.levels == ((LEVELS, LEVELS), (-LEVELS // 2, -LEVELS // 2))
    assert shown.values == ((4.0, -4.0), (2.0, -2.0))
    assert show_change(summary_with(change=np.eye(17))) is None


def test_of_many_classes_those_with_the_largest_entries_are_shown(summary_with):
    k = 30
    matrix = np.eye(k)
    matrix[3, 7], matrix[7, 20] = 0.5, 0.25
    shown = show_map(summary_with(matrix=matrix, centre=np.arange(k) / k))
    assert shown.places == (3, 7, 20)
    assert not shown.is_whole
    assert shown.values[0] == (1.0, 0.5, 0.0, 3 / k)
    assert shown.levels[0][1] == LEVELS
    assert shown.diagonal == (1.0, 1.0)
    assert shown.centre_order[:2] == (29, 28)


def test_a_diagonal_of_many_classes_is_no_matrix_to_show(summary_with):
    shown = show_map(summary_with(matrix=np.eye(30), centre=np.full(30, 1 / 30)))
    assert shown.places == ()
    few = show_map(summary_with(matrix=np.eye(4), centre=np.full(4, 0.25)))
    assert few.places == (0, 1, 2, 3)
    assert few.is_whole
