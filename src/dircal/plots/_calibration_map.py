"""Where a map moves probability vectors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from dircal._frames import to_frame
from dircal._typing import FloatArray
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._fitted_maps import apply_map, canonical_of, check_map, classes_of, most_confused
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import check_chosen, drawn, names_of
from dircal.plots._style import GAP, GREY, INK, PALETTE, house_style, one_axes, width_of
from dircal.tables import check_integer, check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CalibrationMapDisplay"]

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3.0) / 2.0]])


@dataclass(frozen=True, eq=False)
class Moves:
    """Points (m, 2 or 3) on the simplex of the chosen classes, and their images.

    ``special`` marks the interpretation points, ``outside`` (m,) is the probability that the image
    gives to all other classes.
    """

    points: FloatArray
    images: FloatArray
    special: npt.NDArray[np.bool_]
    outside: FloatArray


class CalibrationMapDisplay(AbstractDisplay):
    """Where a map moves probability vectors: arrows on the simplex of three classes.

    Make it with `from_calibrator`.

    Parameters
    ----------
    moves : moves
        The points and their images, as `from_calibrator` computes them.
    matrix : array (3, 4) or None
        The entries of [A | c] for the classes that are shown, where the map has them.
    names : list of str
        Names of the classes that are shown.
    positions : list of int
        Where each of them stands among the sorted labels.
    note : str, default=""
        How they were chosen; shown above the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The picture, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    arrows_ : matplotlib Quiver
        An arrow from each grid point to its image; for two classes a curve, ``line_``.
    points_ : matplotlib PathCollection
        The interpretation points.
    numbers_ : list of matplotlib Text
        The matrix [A | c] below; empty where the map has none.

    Notes
    -----
    The interpretation points are the centre and three points near the centres of the sides, with
    probability ``eps`` for one class and equal ones for the others: what happens there can be read
    off [A | c].

    With more than three classes the others hold the probability ``others`` together, in equal
    parts, and the images are shown as shares within the three. With two classes the picture is the
    curve of the probability of the second.

    **When not to use it.** Rows of a real model do not fill the triangle. What a map does to them
    is told by `explain`.

    Examples
    --------
    >>> from dircal import CanonicalParameters
    >>> from dircal.plots import CalibrationMapDisplay
    >>> parameters = CanonicalParameters([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0.5, 0.3, 0.2])
    >>> display = CalibrationMapDisplay.from_calibrator(parameters, n_grid=4)
    >>> display.to_frame().filter(like="after").iloc[-1].round(2).tolist()
    [0.5, 0.3, 0.2]
    >>> len(display.plot().numbers_)
    12
    """

    title = "What the map does"
    how_to_read = (
        "Each corner of the triangle is certainty of one class, the centre is no idea at all. An "
        "arrow leads from the probabilities before to those after calibration: towards the centre "
        "the model was too sure, towards a corner it had too little of that class. Dots mark the "
        "centre and the middles of the sides, where the map can be read off the matrix [A | c] "
        "below: row i speaks for class i, the last column is where the centre goes. For two "
        "classes a curve shows the probability after against the one before."
    )

    def __init__(
        self,
        moves: Moves,
        matrix: FloatArray | None,
        names: list[str],
        positions: list[int],
        note: str = "",
    ) -> None:
        self.moves = moves
        self.matrix = matrix
        self.names = names
        self.positions = positions
        self.note = note

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Any,
        *,
        labels: Iterable[Any] | None = None,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        n_grid: int = 12,
        eps: float = 0.01,
        others: float = 0.01,
    ) -> Self:
        """Move a grid of points by a fitted calibrator.

        Parameters
        ----------
        calibrator : fitted calibrator or parameters
            Any calibrator, or `CanonicalParameters`, `LinearParameters` or `GenerativeParameters`.
        labels : list of three labels, optional
            The classes to show; by default the three that the map takes for each other most.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        n_grid : int, default=12
            Number of grid points along a side.
        eps : float, default=0.01
            Probability of one class in the interpretation points on the sides.
        others : float, default=0.01
            Probability that the classes not shown hold together.

        Returns
        -------
        display : CalibrationMapDisplay
            Ready to be drawn.
        """
        check_map("calibrator", calibrator)
        check_integer("n_grid", n_grid, at_least=2)
        check_number("eps", eps, above=0.0, below=1.0)
        check_number("others", others, above=0.0, below=1.0)
        known = classes_of(calibrator)
        k, shown = len(known), min(len(known), 3)
        note = ""
        if labels is not None:
            chosen = check_chosen("labels", labels, known)
        elif k > shown:
            confused = most_confused(calibrator, k)
            chosen = confused or list(range(shown))
            note = f"{'the most confused' if confused else 'the first'} three of {k} classes"
        else:
            chosen = list(range(shown))
        if len(chosen) != shown:
            raise ValueError(
                f"`labels` must be {shown} labels; got {len(chosen)}. Pass a corner of the picture "
                "for each, or None."
            )
        grid = _grid(n_grid) if shown == 3 else _line(101)
        near = np.where(np.eye(shown, dtype=bool), eps, (1.0 - eps) / (shown - 1))
        special = np.vstack([near, np.full(shown, 1.0 / shown)])
        points = np.vstack([grid, special])
        inputs = np.full((len(points), k), others / max(k - shown, 1))
        inputs[:, chosen] = points * (1.0 - others * (k > shown))
        images = apply_map(calibrator, inputs)[:, chosen]
        inside = images.sum(axis=1, keepdims=True)
        # Where the map leaves nothing for the three there is no share to show.
        shares = np.divide(images, inside, out=np.full_like(images, np.nan), where=inside > 0)
        is_special = np.arange(len(points)) >= len(grid)
        moves = Moves(points, shares, is_special, (1.0 - inside[:, 0]).clip(min=0.0))
        parameters = canonical_of(calibrator)
        matrix = None
        if parameters is not None:
            block = parameters.A[np.ix_(chosen, chosen)]
            matrix = np.column_stack([block, parameters.c[chosen]])
        names = names_of(known, class_names)
        return cls(moves, matrix, [names[j] for j in chosen], chosen, note)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each point; the centre is the last.

        Returns
        -------
        frame : data frame, or dict of lists
            ``kind`` is "grid" or "interpretation"; ``before_...`` and ``after_...`` with the full
            names of the classes are their shares; ``outside`` is the probability that the map
            gives to classes that are not shown.
        """
        moves = self.moves
        kinds = np.where(moves.special, "interpretation", "grid").tolist()
        names = self.names
        if len(set(names)) < len(names):
            names = [f"{name} #{j}" for name, j in zip(names, self.positions, strict=True)]
        before = {f"before_{name}": moves.points[:, j] for j, name in enumerate(names)}
        after = {f"after_{name}": moves.images[:, j] for j, name in enumerate(names)}
        columns = make_frame(kind=kinds)
        return to_frame(columns | make_frame(**before, **after, outside=moves.outside))

    def plot(self, ax: Any = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        self : CalibrationMapDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        n = len(self.names)
        rows = 0 if self.matrix is None else n + 1.4
        with house_style():
            panel = one_axes(ax, 5.0, (4.8 if n == 3 else 4.6) + 0.32 * rows)
            if n == 3:
                self._draw_triangle(panel)
            else:
                self._draw_curve(panel)
            self.numbers_ = [] if self.matrix is None else self._draw_matrix(panel, ax)
            if ax is not None and self.note:
                panel.set_title(self.note)
        return self._keep([panel], ax, self.note)

    def _draw_triangle(self, ax: "Axes") -> None:
        for i in range(1, 10):
            for j in range(3):
                a, b, c = np.roll(np.arange(3), j)
                t = i / 10
                ends = np.zeros((2, 3))
                ends[:, a] = t
                ends[0, b] = ends[1, c] = 1 - t
                ax.plot(*(ends @ _CORNERS).T, color="#DDDDDD", linewidth=0.5, zorder=0)
        ax.plot(*_CORNERS[[0, 1, 2, 0]].T, color=INK, linewidth=0.9)
        start, end = self.moves.points @ _CORNERS, self.moves.images @ _CORNERS
        move, special = end - start, self.moves.special
        drawn_here = np.isfinite(move).all(axis=1)

        def arrows(kept: npt.NDArray[np.bool_], **style: Any) -> Any:
            # True scale: an arrow ends where the point goes.
            scale: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0}
            return ax.quiver(*start[kept].T, *move[kept].T, **scale, **style)

        self.arrows_ = arrows(
            drawn_here & ~special, color=PALETTE[0], width=0.0035, headwidth=4.5, headlength=5.5,
            minlength=0.4,
        )  # fmt: skip
        arrows(drawn_here & special, color=GAP, width=0.006, minlength=0.3, zorder=3)
        self.points_ = ax.scatter(start[special, 0], start[special, 1], s=22, color=INK, zorder=4)
        sides = (("left", "top"), ("right", "top"), ("center", "bottom"))
        names = drawn(self.names, 22, self.positions)
        for j, (across, up) in enumerate(sides):
            x, y = _CORNERS[j] + [(0.02, -0.03), (-0.02, -0.03), (0.0, 0.025)][j]
            ax.text(x, y, names[j], ha=across, va=up)
        ax.set(xlim=(-0.08, 1.08), ylim=(-0.12, 0.95), aspect="equal")
        ax.set_axis_off()

    def _draw_curve(self, ax: "Axes") -> None:
        moves, name = self.moves, drawn(self.names, 22, self.positions)[1]
        ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=0.9)
        grid = ~moves.special
        (self.line_,) = ax.plot(moves.points[grid, 1], moves.images[grid, 1], color=PALETTE[0])
        marked = moves.special
        self.points_ = ax.scatter(
            moves.points[marked, 1], moves.images[marked, 1], s=22, color=INK, zorder=4
        )
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set(xlabel=f"probability of {name} before", ylabel=f"probability of {name} after")

    def _draw_matrix(self, ax: "Axes", given: Any) -> list[Any]:
        """The matrix [A | c] in words under the picture, with the class of each row."""
        assert self.matrix is not None
        n = len(self.names)
        # Letters of 0.075 inches that fit between two columns.
        letters = 9 if given is None else int(np.clip(0.15 * width_of(ax) / 0.075, 3, 9))
        step, top = 0.085, -0.17 if n == 3 else -0.3
        columns = np.append(0.36 + 0.17 * np.arange(n), 0.36 + 0.17 * n + 0.08)
        numbers = []
        heads = drawn(self.names, letters, self.positions)
        labels = drawn(self.names, 20, self.positions)
        for x, head in zip(columns, [*heads, "c"], strict=True):
            ax.text(x, top, head, ha="center", va="center", fontsize=8, color=GREY, clip_on=False)
        for i, row in enumerate(self.matrix):
            y = top - step * (i + 1)
            ax.text(0.24, y, labels[i], ha="right", va="center", fontsize=8, color=GREY)
            texts = [
                *(f"{value:.2f}" for value in row[:-1]),
                f"{row[-1]:.2f}" if row[-1] >= 0.1 else f"{row[-1]:.2g}",
            ]
            for x, text in zip(columns, texts, strict=True):
                numbers.append(ax.text(x, y, text, ha="center", va="center"))
        bottom = top - step * (n + 0.5)
        bar = columns[-1] - 0.125
        ax.plot([bar, bar], [bottom, top - 0.5 * step], color=INK, linewidth=0.8, clip_on=False)
        if n == 3:
            ax.set_ylim(bottom - 0.02, 0.95)
        return numbers


def _grid(n: int) -> FloatArray:
    """Points (m, 3) of a triangular grid with ``n`` on a side, a little inside of it."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    kept = i + j < n
    steps = (
        np.column_stack([i[kept], j[kept], (n - 1 - i - j)[kept]]) + PLOT_LIMITS.get().grid_inset
    )
    points: FloatArray = steps / steps.sum(axis=1, keepdims=True)
    return points


def _line(n: int) -> FloatArray:
    """Points (n, 2), denser near the ends."""
    second = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.005, 0.995, n))
    return np.column_stack([1.0 - second, second])
