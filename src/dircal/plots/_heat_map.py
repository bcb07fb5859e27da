"""Matrices as heat maps: numbers where they can be read, a list of the largest where not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dircal._typing import FloatArray
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import drawn
from dircal.plots._style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "draw_list",
    "draw_matrix",
    "heat_axes",
    "label_classes",
    "largest_cells",
    "matrix_size",
]

# Width of the list beside a heat map in inches.
_LIST = 4.3


def matrix_size(n_classes: int) -> float:
    """Side of a heat map in inches."""
    is_legible = n_classes <= PLOT_LIMITS.get().max_legible_classes
    return float(np.clip(0.5 * n_classes, 2.2, 6.4)) if is_legible else 6.0


def heat_axes(ax: Any, n_classes: int, width: float) -> tuple["Axes", "Axes | None"]:
    """Axes of the heat map and, in a new figure of many classes, of the list beside it."""
    if ax is not None:
        return ax, None
    height = matrix_size(n_classes) + 1.0
    if n_classes <= PLOT_LIMITS.get().max_legible_classes:
        return new_figure(width, height).subplots(), None
    figure = new_figure(width + _LIST, height)
    left, right = figure.subplots(1, 2, width_ratios=[width, _LIST])
    return left, right


def draw_matrix(
    ax: "Axes",
    values: FloatArray,
    names: Sequence[str],
    texts: Sequence[Sequence[str]] | None,
    *,
    cmap: Any,
    low: float,
    high: float,
    left: float = -0.5,
) -> tuple[Any, list[Any]]:
    """A block of cells whose first column begins at ``left``; gives the image and the numbers."""
    n_rows, n_columns = values.shape
    image = ax.imshow(
        values,
        cmap=cmap,
        vmin=low,
        vmax=high,
        origin="upper",
        interpolation="nearest",
        aspect="equal",
        extent=(left, left + n_columns, n_rows - 0.5, -0.5),
    )
    numbers: list[Any] = []
    if texts is not None and len(names) <= PLOT_LIMITS.get().max_legible_classes:
        size = 8.0 if len(names) <= 10 else 6.5
        # White on the dark half of the scale, whichever side of it is dark.
        strength = np.abs(values) / max(abs(low), abs(high), 1e-300)
        colours = np.where(strength > 0.55, "white", "black")
        centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
        numbers = [
            ax.text(left + j + 0.5, i, text, color=str(colours[i, j]), **centred)
            for i, row in enumerate(texts)
            for j, text in enumerate(row)
        ]
    return image, numbers


def label_classes(ax: "Axes", names: Sequence[str]) -> None:
    """Names of the classes on both axes, every tenth or so where there are many."""
    limits = PLOT_LIMITS.get()
    n = len(names)
    short = drawn(names, 14)
    step = 1 if n <= 30 else int(np.ceil(n / 20 / 5) * 5)
    ticks = list(range(0, n, step))
    shown = [short[j] for j in ticks]
    # Letters of 0.09 inches have to fit into a cell.
    upright = n > limits.max_legible_classes or max(map(len, shown)) * 0.09 > matrix_size(n) / n
    ax.set_yticks(ticks, shown)
    ax.set_xticks(ticks, shown, rotation=90 if upright else 0)
    if n > limits.max_legible_classes:
        ax.tick_params(labelsize=7.5)
    else:
        ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def largest_cells(sizes: FloatArray) -> list[tuple[int, int]]:
    """Row and column of the cells that are told beside a heat map, the largest first."""
    order = np.argsort(-sizes, axis=None, kind="stable")[: PLOT_LIMITS.get().max_listed]
    rows, columns = np.unravel_index(order, sizes.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def draw_list(ax: "Axes", heading: str, lines: Sequence[str]) -> None:
    """Some lines of text, where the cells are too many to hold numbers."""
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.text(0.0, 1.0, heading, va="top", fontsize=9.5, weight="bold")
    for i, line in enumerate(lines):
        ax.text(0.0, 0.93 - 0.045 * i, line, va="top", fontsize=8.5)
