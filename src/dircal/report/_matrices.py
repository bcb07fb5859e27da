"""Matrices of the page: tables with numbers for few classes, compact pictures for many."""

from dataclasses import dataclass

from dircal.report._shapes import Cells, heat_cells, level_of
from dircal.report._summary import Numbers, Summary

__all__ = ["LEGIBLE", "Matrix", "show_change", "show_map"]

LEGIBLE = 16
"""Classes up to which every cell has its number, as in the pictures."""
_TOLD = 12


@dataclass(frozen=True)
class Matrix:
    """A matrix (k, k) or (k, k + 1) to be shown.

    ``levels`` are steps of colour for a table; ``cells`` the same as paths, without the diagonal
    where it would drown the rest. ``largest`` are places (row, column) of the entries to list, and
    ``centre_order`` those of c, the largest first.
    """

    values: Numbers
    levels: tuple[tuple[int, ...], ...]
    cells: tuple[Cells, ...]
    largest: tuple[tuple[int, int], ...]
    diagonal: tuple[float, float] | None = None
    centre_order: tuple[int, ...] = ()


def show_change(summary: Summary) -> Matrix:
    """The confusion matrix after less the one before."""
    values = summary.changes.confusion_change
    top = max(abs(value) for row in values for value in row)
    return Matrix(
        values,
        tuple(tuple(level_of(value, top) for value in row) for row in values),
        tuple(heat_cells(values, top)) if len(values) > LEGIBLE else (),
        _largest(values),
    )


def show_map(summary: Summary) -> Matrix | None:
    """The canonical parameters [A | c]; c has its own scale."""
    matrix, centre = summary.map.matrix, summary.map.centre
    if matrix is None or centre is None:
        return None
    k = len(matrix)
    many = k > LEGIBLE
    diagonal = [matrix[i][i] for i in range(k)]
    beside = [matrix[i][j] for i in range(k) for j in range(k) if i != j]
    # Entries beside the diagonal are far smaller than those on it, and are what there is to see.
    top, top_c = max(beside) if many else max(*diagonal, *beside), max(centre)
    levels = tuple(
        (*(level_of(value, top) for value in row), level_of(c, top_c))
        for row, c in zip(matrix, centre, strict=True)
    )
    values = tuple((*row, c) for row, c in zip(matrix, centre, strict=True))
    without = tuple(
        tuple(0.0 if i == j else value for j, value in enumerate(row))
        for i, row in enumerate(matrix)
    )
    return Matrix(
        values,
        levels,
        tuple(heat_cells(without, top)) if many else (),
        _largest(without),
        (min(diagonal), max(diagonal)),
        tuple(sorted(range(k), key=lambda i: -centre[i])),
    )


def _largest(values: Numbers) -> tuple[tuple[int, int], ...]:
    cells = [(i, j) for i, row in enumerate(values) for j, value in enumerate(row) if value]
    cells.sort(key=lambda cell: -abs(values[cell[0]][cell[1]]))
    return tuple(cells[:_TOLD])
