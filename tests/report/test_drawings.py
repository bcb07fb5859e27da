"""Shapes and matrices of the page."""

from dataclasses import replace

import numpy as np
import pytest

from dircal.report._matrices import show_change, show_map
from dircal.report._shapes import FRAME, LEVELS, bars, level_of, mini_paths
from dircal.report._summary import Bin, Diagram

# Where bars and brackets lie, and how strong colours are.


DIAGRAM = Diagram(
    0.1,
    (
        Bin(0.0, 0.5, 1.0, 0.25, 0.5, None, None),
        Bin(0.5, 1.0, 1000.0, 0.75, 0.25, 0.7, 0.8),
    ),
)


def test_bars_reach_what_was_observed_and_gaps_what_was_said():
    low, high = bars(DIAGRAM)
    assert (low.x, low.width) == (FRAME.x(0.0), FRAME.side / 2)
    assert (low.y, low.y + low.height) == (FRAME.y(0.5), FRAME.y(0.0))
    assert (low.gap_y, low.gap_y + low.gap_height) == (FRAME.y(0.5), FRAME.y(0.25))
    assert (high.gap_y, high.gap_y + high.gap_height) == (FRAME.y(0.75), FRAME.y(0.25))
    assert low.caps is None
    assert f"{FRAME.y(0.7):g}H" in high.caps
    assert high.stem.endswith(f"{FRAME.y(0.7):g}V{FRAME.y(0.8):g}")
    assert high.count_height == FRAME.strip
    assert 0 < low.count_height < 5
    assert "1 row: said 0.250, observed 0.500" in low.words
    assert "by chance 0.700 to 0.800" in high.words


def test_bins_without_width_are_seen():
    (bar,) = bars(Diagram(0.0, (Bin(1.0, 1.0, 5.0, 1.0, 1.0, None, None),)))
    assert bar.width > 0
    assert bar.x + bar.width == FRAME.x(1.0)


def test_small_diagrams_are_two_paths():
    solid, gaps = mini_paths(DIAGRAM)
    assert solid == "M0 15h15v15h-15zM15 22.5h15v7.5h-15z"
    assert gaps == "M0 15h15v7.5h-15zM15 7.5h15v15h-15z"


@pytest.mark.parametrize(
    ("value", "level"),
    [(0.0, 0), (1.0, LEVELS), (-1.0, -LEVELS), (0.5, LEVELS // 2), (9.0, LEVELS)],
)
def test_levels_have_the_sign_of_the_value(value, level):
    assert level_of(value, 1.0) == level
    assert level_of(value, 0.0) == 0


def test_bars_of_few_rows_are_pale():
    few, many = bars(DIAGRAM)
    assert 0.2 < few.strength < 0.3
    assert many.strength == 1.0


# Matrices of the page: whole where they are small, and never empty.


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
