"""The canonical parameters of a map as a heat map."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal.maps import CanonicalParameters
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._fitted_maps import canonical_of, check_map, classes_of
from dircal.plots._heat_map import (
    draw_list,
    draw_matrix,
    heat_axes,
    label_classes,
    largest_cells,
    matrix_size,
)
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import drawn, names_of
from dircal.plots._style import SHARES, STRENGTHS, house_style

__all__ = ["ParametersDisplay"]


class ParametersDisplay(AbstractDisplay):
    """The matrix [A | c] of a map in its canonical form, as a heat map.

    Make it with `from_calibrator`.

    Parameters
    ----------
    parameters : CanonicalParameters
        A and c.
    names : tuple of str
        Names of the classes, in the order of the rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The heat map, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    image_, image_c_ : matplotlib AxesImage
        The cells of A and those of c, which have a scale of their own.
    numbers_ : list of matplotlib Text
        The numbers in the cells; empty for more than 16 classes.

    Notes
    -----
    For more than 16 classes the cells hold no numbers. The colours are then those of the entries
    off the diagonal, which are far smaller than those on it; the title tells the diagonal, and the
    largest of the others are listed beside the heat map in a new figure. `to_frame` has them all.

    **When not to use it.** An entry that meets no data moves nothing, however large it is:
    `explain` measures effects on rows.

    Examples
    --------
    >>> from dircal import CanonicalParameters
    >>> from dircal.plots import ParametersDisplay
    >>> parameters = CanonicalParameters([[1.0, 0.0], [0.0, 0.5]], [0.7, 0.3])
    >>> display = ParametersDisplay.from_calibrator(parameters, class_names=["cat", "dog"])
    >>> display.to_frame()["value"].tolist()
    [1.0, 0.0, 0.7, 0.0, 0.5, 0.3]
    >>> [number.get_text() for number in display.plot().numbers_]
    ['1.00', '0.00', '0.00', '0.50', '0.70', '0.30']
    """

    title = "Canonical parameters [A | c]"
    how_to_read = (
        "Row i, column j says how much a large probability of class j speaks for class i. The "
        "identity matrix with equal c changes nothing; a diagonal below one makes the model less "
        "sure; an entry off the diagonal stands for a confusion that the map repairs. The last "
        "column c is what the map makes of a row with equal probabilities for all classes."
    )

    def __init__(self, parameters: CanonicalParameters, names: tuple[str, ...]) -> None:
        self.parameters = parameters
        self.names = names

    @classmethod
    def from_calibrator(
        cls, calibrator: Any, *, class_names: Sequence[str] | Mapping[Any, str] | None = None
    ) -> Self:
        """Take the parameters of a fitted calibrator.

        Parameters
        ----------
        calibrator : fitted calibrator or parameters
            Any linear calibrator, or `CanonicalParameters`, `LinearParameters` or
            `GenerativeParameters`.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.

        Returns
        -------
        display : ParametersDisplay
            Ready to be drawn.
        """
        check_map("calibrator", calibrator)
        parameters = canonical_of(calibrator)
        if parameters is None:
            raise ValueError(
                "`calibrator` must have canonical parameters, as linear maps of log-probabilities "
                f"have; {type(calibrator).__name__} has none. Draw what it does with "
                "CalibrationMapDisplay, or pass a member of an average, `calibrators_[i]`."
            )
        return cls(parameters, names_of(classes_of(calibrator), class_names))

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each cell.

        Returns
        -------
        frame : data frame, or dict of lists
            ``row`` is the output class, ``column`` the input class or "c", ``value`` the entry.
        """
        k = len(self.names)
        values = np.column_stack([self.parameters.A, self.parameters.c])
        return to_frame(
            make_frame(
                row=[name for name in self.names for _ in range(k + 1)],
                column=[*self.names, "c"] * k,
                value=values.ravel(),
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure, with a list of the largest entries if there are
            many classes.

        Returns
        -------
        self : ParametersDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        limits = PLOT_LIMITS.get()
        A, c = self.parameters.A, self.parameters.c
        k = len(c)
        space = 0.35 if k <= limits.max_legible_classes else 0.03 * k
        # The column of c is as wide as a class, or wide enough to be seen.
        wide = 1.0 if k <= limits.max_legible_classes else 0.04 * k
        diagonal = np.diag(A)
        off = (A - np.diag(diagonal)).max()
        high = max(off if k > limits.max_legible_classes and off > 0 else A.max(), 1e-300)
        with house_style():
            panel, beside = heat_axes(ax, k, matrix_size(k) * (k + 1.5) / k + 1.4)
            texts = [[f"{value:.2f}" for value in row] for row in A]
            self.image_, numbers = draw_matrix(
                panel, A, self.names, texts, cmap=STRENGTHS, low=0.0, high=high
            )
            left = k - 0.5 + space
            self.image_c_, more = draw_matrix(
                panel,
                c[:, None],
                self.names,
                [[f"{value:.{2 if k <= 10 else 3}f}"] for value in c],
                cmap=SHARES,
                low=0.0,
                high=c.max(),
                left=left,
            )
            self.image_c_.set_extent((left, left + wide, k - 0.5, -0.5))
            self.numbers_ = numbers + more
            label_classes(panel, self.names)
            ticks = [*panel.get_xticks(), left + wide / 2]
            labels = [*(label.get_text() for label in panel.get_xticklabels()), "c"]
            panel.set_xticks(ticks, labels)
            panel.get_xticklabels()[-1].set_rotation(0)
            panel.set(xlim=(-0.5, left + wide), ylim=(k - 0.5, -0.5))
            panel.set(xlabel="input class", ylabel="output class")
            if k > limits.max_legible_classes:
                panel.figure.colorbar(
                    self.image_, ax=panel, shrink=0.6, label="entry of A", extend="max"
                )
                panel.set_title(f"diagonal: {diagonal.min():.2f} to {diagonal.max():.2f}")
            if beside is not None:
                draw_list(beside, "Largest entries off the diagonal", self._largest())
        return self._keep([panel], ax)

    def _largest(self) -> list[str]:
        """The largest entries off the diagonal in words."""
        off = self.parameters.A.copy()
        np.fill_diagonal(off, -np.inf)
        short = drawn(self.names, 16)
        return [f"{off[i, j]:#.2g}   {short[j]} → {short[i]}" for i, j in largest_cells(off)]
