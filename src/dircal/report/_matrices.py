"""Matrices of the page: whole for few classes, those that matter most for many."""

from dataclasses import dataclass

from dircal.report._limits import REPORT_LIMITS
from dircal.report._shapes import level_of
from dircal.report._summary import Numbers, Summary

__all__ = ["Matrix", "show_change", "show_map"]


@dataclass(frozen=True)
class Matrix:
    """Rows and columns of the classes at ``places`` of a matrix (k, k), perhaps with a last column.

    ``levels`` are steps of colour, negative where an entry is for the worse. ``centre_order`` are
    the places of c, the largest first.
    """

    places: tuple[int, ...]
    values: Numbers
    levels: tuple[tuple[int, ...], ...]
    is_whole: bool
    diagonal: tuple[float, float] | None = None
    centre_order: tuple[int, ...] = ()


def show_change(summary: Summary) -> Matrix | None:
    """The confusion matrix after less the one before; more on the diagonal is for the better.

    There is none of many classes: nearly all of its cells would be empty, and the largest changes
    are listed.
    """
    values = summary.changes.confusion_change
    k = len(values)
    if k > REPORT_LIMITS.get().max_legible_classes:
        return None
    top = max(abs(value) for row in values for value in row)
    levels = tuple(
        tuple(level_of(value if i == j else -value, top) for j, value in enumerate(row))
        for i, row in enumerate(values)
    )
    return Matrix(tuple(range(k)), values, levels, is_whole=True)


def show_map(summary: Summary) -> Matrix | None:
    """The canonical parameters [A | c]; c has its own scale."""
    matrix, centre = summary.map.matrix, summary.map.centre
    if matrix is None or centre is None:
        return None
    k = len(matrix)
    is_whole = k <= REPORT_LIMITS.get().max_legible_classes
    diagonal = [matrix[i][i] for i in range(k)]
    beside = tuple(
        tuple(0.0 if i == j else value for j, value in enumerate(row))
        for i, row in enumerate(matrix)
    )
    places = _places(beside)
    largest = max(max(row) for row in beside)
    # Entries beside the diagonal are far smaller than those on it, and are what there is to see.
    top, top_c = max(*diagonal, largest) if is_whole else largest, max(centre)
    return Matrix(
        places,
        tuple((*row, centre[i]) for i, row in zip(places, _part(matrix, places), strict=True)),
        tuple(
            (*(level_of(matrix[i][j], top) for j in places), level_of(centre[i], top_c))
            for i in places
        ),
        is_whole,
        (min(diagonal), max(diagonal)),
        tuple(sorted(range(k), key=lambda i: -centre[i])),
    )


def _places(values: Numbers) -> tuple[int, ...]:
    """All classes where they are few, else those of the largest entries that are not zero."""
    limits = REPORT_LIMITS.get()
    k = len(values)
    if k <= limits.max_legible_classes:
        return tuple(range(k))
    cells = [(i, j) for i, row in enumerate(values) for j, value in enumerate(row) if value]
    cells.sort(key=lambda cell: -abs(values[cell[0]][cell[1]]))
    chosen: set[int] = set()
    for cell in cells:
        if len(chosen.union(cell)) > limits.max_legible_classes:
            break
        chosen.update(cell)
    return tuple(sorted(chosen))


def _part(values: Numbers, places: tuple[int, ...]) -> Numbers:
    return tuple(tuple(values[i][j] for j in places) for i in places)
