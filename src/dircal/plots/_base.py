"""What every Display has: numbers first, a drawing second, and a sentence on how to read it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from dircal.plots._style import entitle, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["AbstractDisplay", "Frame", "lines_of_frame", "make_frame", "plain"]

Frame: TypeAlias = dict[str, list[Any]]
"""A table as plain data: lists of equal length by the name of their column, None where empty."""


class AbstractDisplay(ABC):
    """Numbers that can be drawn.

    A ``from_...`` method computes them, `to_frame` gives them as a table, `plot` draws them and
    computes nothing.
    """

    title: ClassVar[str]
    how_to_read: ClassVar[str]
    ax_: "Axes"
    figure_: "Figure | SubFigure"

    @abstractmethod
    def to_frame(self) -> Any:
        """The numbers that are drawn.

        Returns
        -------
        frame : data frame, or dict of lists
            A table of pandas, or of polars where only that is installed; without either, lists of
            equal length by the name of their column, None where there is no value.
        """

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure. A picture with several panels takes the place
            of the Axes, or one Axes for each panel.

        Returns
        -------
        self : object
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """

    def _keep(self, axes: "Sequence[Axes]", given: Any, note: str = "") -> Self:
        """Remember the panels that were drawn; give a new figure its title and its layout.

        The ``note`` says which part of the whole is shown.
        """
        self.axes_ = np.array(axes, dtype=object)
        self.ax_ = axes[0]
        self.figure_ = axes[0].figure
        if given is None:
            # Panels of a fixed shape find their place only in a second round; the first is this,
            # the second comes with the drawing.
            figure: Any = axes[0].figure
            with house_style():
                entitle(figure, f"{self.title}: {note}" if note else self.title)
            figure.get_layout_engine().execute(figure)
        return self

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: {self.title}; plot() draws it, to_frame() has the numbers>"


def make_frame(**columns: npt.ArrayLike | Sequence[Any]) -> Frame:
    """Columns as lists of plain values."""
    return {name: [plain(value) for value in column] for name, column in columns.items()}  # type: ignore[union-attr]


def lines_of_frame(frame: Any, columns: Sequence[str], source: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a table that a user passes back, if it has all ``columns`` of its ``source``."""
    missing = [name for name in columns if name not in frame]
    if missing:
        raise ValueError(
            f"`frame` must have the columns {', '.join(columns)}; {missing[0]!r} is missing. "
            f"Pass what `to_frame()` of {source} gave."
        )
    return zip(*(frame[name] for name in columns), strict=True)


def plain(value: Any) -> Any:
    """A value of Python itself; None for NaN."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value != value else value
