"""Whether each class happens as often as it is said to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from dircal._frames import to_frame
from dircal._typing import ArrayLike
from dircal.metrics import Binning, Predictions, Strategy, check_bins
from dircal.plots._base import AbstractDisplay
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import drawn, names_of
from dircal.plots._reliability_curves import (
    GAP_WIDTH,
    Counts,
    Curve,
    check_level,
    classes_to_show,
    curves_frame,
    curves_of_classes,
    draw_panels,
    legend_below,
)
from dircal.plots._style import house_style, some_axes
from dircal.tables import check_integer

__all__ = ["ClasswiseReliabilityDisplay"]


class ClasswiseReliabilityDisplay(AbstractDisplay):
    """Reliability diagrams of the classes: whether each happens as often as it is said to.

    Make it with `from_predictions`.

    Parameters
    ----------
    curves : list of curves
        The classes that are shown, in this order.
    positions : list of int
        Where each of them stands among the sorted labels.
    n_classes : int
        Number of classes that they are the worst of.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One panel for each class that is shown, after `plot`.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Their figure.
    bars_, gaps_, band_, counts_, diagonal_ : lists
        The artists of each kind, one entry for each panel.

    Notes
    -----
    The bins, gaps and brackets are those of `ReliabilityDisplay`, for the probability of one class
    in all rows. If there are more classes than panels, those with the largest calibration errors
    (`class_ece`) are shown, the worst first.

    **When not to use it.** For rare classes nearly all rows lie in the first bin; take
    ``strategy="mass"`` there.

    Examples
    --------
    >>> from dircal.plots import ClasswiseReliabilityDisplay
    >>> y_prob = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> display = ClasswiseReliabilityDisplay.from_predictions(
    ...     ["no", "yes", "yes", "no"], y_prob, labels=["yes"], n_bins=2
    ... )
    >>> display.to_frame()["frequency"].tolist()
    [0.3333333333333333, 1.0]
    >>> len(display.plot().axes_)
    1
    """

    title = "Reliability of each class"
    how_to_read = (
        "One panel for each class. Each bar holds the rows that give the class a similar "
        "probability and is as high as the share of them that belongs to it. Below the dashed "
        "diagonal the class is over-estimated, above it under-estimated. The narrow bar is the gap "
        "to what was said, the bracket is where the bar would end by chance if nothing were wrong, "
        "and the strip below counts the rows on a logarithmic scale."
    )

    def __init__(self, curves: list[Curve], positions: list[int], n_classes: int) -> None:
        self.curves = curves
        self.positions = positions
        self.n_classes = n_classes

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        labels: Iterable[Any] | None = None,
        max_panels: int = 12,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Iterable[Any] | None = None,
        n_bins: int = 15,
        strategy: Strategy = "width",
        binning: Binning = "right_closed",
        level: float | None = 0.95,
    ) -> Self:
        """Compute the diagrams from probabilities.

        Parameters
        ----------
        y_true : array-like (n,) or (n, k)
            True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers
            that count annotators.
        y_prob : array-like (n, k), or (n,) for two classes
            Probability of each class, or of the positive one.
        labels : label or list of labels, optional
            The classes to show, in this order; by default all, or the worst if there are many.
        max_panels : int, default=12
            If there are more classes than this, and ``labels`` is not given, so many are shown.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        sample_weight : array-like (n,), optional
            Weight of each row.
        classes : array-like (k,), optional
            Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the
            columns are in another order.
        n_bins : int, default=15
            Number of bins.
        strategy : {"width", "mass"}, default="width"
            Bins of equal width, or with equally many rows.
        binning : {"right_closed", "paper_table"}, default="right_closed"
            The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.
        level : float or None, default=0.95
            Probability of the consistency band; None draws none.

        Returns
        -------
        display : ClasswiseReliabilityDisplay
            Ready to be drawn.
        """
        check_level(level)
        check_integer("max_panels", max_panels, at_least=1)
        predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
        names = names_of(predictions.classes, class_names)
        rule = check_bins(n_bins, strategy, binning)
        chosen = classes_to_show(predictions, rule, labels, max_panels)
        shown = [names[j] for j in chosen]
        of = len(chosen) if labels is not None else predictions.n_classes
        return cls(curves_of_classes(predictions, rule, chosen, shown, level), chosen, of)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each class that is shown and bin that holds rows.

        Returns
        -------
        frame : data frame, or dict of lists
            The class by its full name as ``curve``, the ends of the bin, its rows, mean
            prediction, observed frequency, their difference ``gap``, and the consistency band from
            ``low`` to ``high``.
        """
        return to_frame(curves_frame(self.curves))

    def plot(
        self, ax: Any = None, *, counts: Counts = "below", gap_width: float = GAP_WIDTH
    ) -> Self:
        """Draw the diagrams.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw: one Axes, whose place the panels take, or one for each class that is
            shown; by default a new figure, with a legend.
        counts : {"below", "none"}, default="below"
            A strip with the number of rows in each bin, or none.
        gap_width : float, default=0.3
            Width of the gap bars, as a part of the bin's.

        Returns
        -------
        self : ClasswiseReliabilityDisplay
            With the panels as ``axes_``, the figure as ``figure_`` and the artists.
        """
        n = len(self.curves)
        n_columns = min(n, PLOT_LIMITS.get().n_columns if n != 10 else 5)
        n_rows = -(-n // n_columns)
        height = 2.6 if counts == "below" else 2.2
        size = (2.1 * n_columns + 0.3, height * n_rows + 0.5) if n > 1 else (4.6, 2 * height)
        with house_style():
            panels = some_axes(ax, n, n_columns, *size)
            width = 17 if n > 1 else 34
            names = drawn([curve.name for curve in self.curves], width, self.positions)
            artists = draw_panels(panels, self.curves, names, n_columns, counts, gap_width)
            if ax is None:
                legend_below(panels[0], {key: several[0] for key, several in artists.items()})
        vars(self).update(artists)
        note = f"the {n} worst of {self.n_classes} classes" if n < self.n_classes else ""
        return self._keep(panels, ax, note)
