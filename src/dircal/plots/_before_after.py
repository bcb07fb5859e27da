"""Several calibrators side by side: the reliability before and after."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from dircal._frames import to_frame
from dircal._typing import ArrayLike
from dircal.metrics import Binning, Predictions, Strategy, check_bins
from dircal.plots._base import AbstractDisplay
from dircal.plots._fitted_maps import check_map, probabilities_of
from dircal.plots._names import drawn, names_of
from dircal.plots._reliability_curves import (
    GAP_WIDTH,
    Counts,
    Curve,
    check_level,
    classes_to_show,
    confidence_curve,
    curves_frame,
    curves_of_classes,
    draw_panels,
    legend_below,
)
from dircal.plots._results import check_mapping
from dircal.plots._stored_curves import curves_from_frame
from dircal.plots._style import house_style, panel_axes
from dircal.tables import as_array, check_integer

__all__ = ["BeforeAfterDisplay"]

_CONFIDENCE = "confidence"


class BeforeAfterDisplay(AbstractDisplay):
    """Reliability diagrams of several methods: a row for each, the confidence and some classes.

    Make it with `from_predictions`, `from_calibrators` or `from_frame`.

    Parameters
    ----------
    rows : dict from str to list of curves
        The curves of each method: the confidence first, where it is shown, then the classes.
    positions : list of int
        Where each of these classes stands among the sorted labels.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        The panels, method by method, after `plot`.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Their figure.
    bars_, gaps_, band_, counts_, diagonal_ : lists
        The artists of each kind, one entry for each panel.

    Notes
    -----
    This is figure S1 of the paper. The panels are those of `ReliabilityDisplay` and
    `ClasswiseReliabilityDisplay`.

    **When not to use it.** Diagrams of rows on which the calibrators were fitted flatter them.

    Examples
    --------
    >>> from dircal.plots import BeforeAfterDisplay
    >>> before = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> after = [[0.7, 0.3], [0.6, 0.4], [0.4, 0.6], [0.5, 0.5]]
    >>> display = BeforeAfterDisplay.from_predictions(
    ...     [0, 1, 1, 0], {"before": before, "after": after}, n_bins=2
    ... )
    >>> sorted(set(display.to_frame()["method"]))
    ['after', 'before']
    >>> display.plot().axes_.shape
    (6,)
    """

    title = "Reliability before and after calibration"
    how_to_read = (
        "A row for each method. The first column shows whether it is right as often as it is sure, "
        "the others whether a class happens as often as it is said to. Bars on the dashed diagonal "
        "are calibrated; below it the model says too much, above it too little. A bracket is where "
        "the bar would end by chance if nothing were wrong."
    )

    def __init__(self, rows: dict[str, list[Curve]], positions: list[int]) -> None:
        self.rows = rows
        self.positions = positions

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: Mapping[str, ArrayLike],
        *,
        labels: Iterable[Any] | None = None,
        max_classes: int = 3,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Iterable[Any] | None = None,
        n_bins: int = 15,
        strategy: Strategy = "width",
        binning: Binning = "right_closed",
        level: float | None = 0.95,
    ) -> Self:
        """Compute the diagrams from the probabilities of several methods.

        Parameters
        ----------
        y_true : array-like (n,) or (n, k)
            True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers
            that count annotators.
        y_prob : dict from str to array-like (n, k)
            Probabilities of each method, by its name; usually those before calibration first.
        labels : label or list of labels, optional
            The classes to show, in this order; by default all, or the worst if there are many.
        max_classes : int, default=3
            If there are more classes than this, and ``labels`` is not given, so many are shown:
            those with the largest calibration errors in the first method.
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
        display : BeforeAfterDisplay
            Ready to be drawn.
        """
        check_level(level)
        check_integer("max_classes", max_classes, at_least=0)
        given = check_mapping("y_prob", y_prob, "its probabilities")
        several = {
            method: Predictions.check(y_true, proba, sample_weight, classes, from_a_map=i > 0)
            for i, (method, proba) in enumerate(given.items())
        }
        first = next(iter(several.values()))
        names = names_of(first.classes, class_names)
        rule = check_bins(n_bins, strategy, binning)
        chosen = classes_to_show(first, rule, labels, max_classes)
        shown = [names[j] for j in chosen]
        rows = {
            method: [
                confidence_curve(predictions, rule, level, _CONFIDENCE),
                *(curves_of_classes(predictions, rule, chosen, shown, level) if chosen else []),
            ]
            for method, predictions in several.items()
        }
        return cls(rows, chosen)

    @classmethod
    def from_calibrators(
        cls,
        calibrators: Mapping[str, Any],
        X: ArrayLike,
        y: ArrayLike,
        *,
        labels: Iterable[Any] | None = None,
        max_classes: int = 3,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 15,
        strategy: Strategy = "width",
        binning: Binning = "right_closed",
        level: float | None = 0.95,
    ) -> Self:
        """Compute the diagrams before and after fitted calibrators, on rows new to them.

        Parameters
        ----------
        calibrators : dict from str to fitted calibrator
            By the names to show. They are fitted on scores of one scale, with the same columns.
        X : array-like (n, k)
            Scores, on the scale and with the columns that they were fitted on.
        y : array-like (n,)
            True labels.
        labels : label or list of labels, optional
            The classes to show, in this order; by default all, or the worst if there are many.
        max_classes : int, default=3
            If there are more classes than this, and ``labels`` is not given, so many are shown:
            those with the largest calibration errors before calibration.
        class_names : list or dict, optional
            Names to show: in the sorted order of the labels, or by label.
        sample_weight : array-like (n,), optional
            Weight of each row.
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
        display : BeforeAfterDisplay
            With a first row "before" for the scores as they are.
        """
        given = check_mapping("calibrators", calibrators, "a fitted calibrator")
        for name, calibrator in given.items():
            check_map(f"calibrators[{name!r}]", calibrator)
        first = next(iter(given.values()))
        proba = {"before": probabilities_of(first, X)}
        proba |= {name: as_array(calibrator.predict_proba(X)) for name, calibrator in given.items()}
        return cls.from_predictions(
            y,
            proba,
            labels=labels,
            max_classes=max_classes,
            class_names=class_names,
            sample_weight=sample_weight,
            classes=first.classes_,
            n_bins=n_bins,
            strategy=strategy,
            binning=binning,
            level=level,
        )

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Take bins from elsewhere, as `to_frame` gives them.

        Parameters
        ----------
        frame : data frame, or dict of lists
            The columns ``method``, ``curve``, ``bin``, ``lower``, ``upper``, ``count``,
            ``mean_predicted`` and ``frequency``, a row for each bin that holds rows. The curve
            "confidence", where there is one, comes first; the others are classes.

        Returns
        -------
        display : BeforeAfterDisplay
            Without consistency bands, which need the rows.
        """
        rows = curves_from_frame(frame)
        names = [curve.name for curve in next(iter(rows.values()))]
        return cls(rows, list(range(len(names) - (names[0] == _CONFIDENCE))))

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each method, curve and bin that holds rows.

        Returns
        -------
        frame : data frame, or dict of lists
            ``method``, ``curve`` ("confidence" or the full name of a class), and the columns of
            `ReliabilityDisplay.to_frame`.
        """
        curves = [curve for row in self.rows.values() for curve in row]
        methods = [method for method, row in self.rows.items() for _ in row]
        return to_frame(curves_frame(curves, method=methods))

    def plot(
        self, ax: Any = None, *, counts: Counts = "below", gap_width: float = GAP_WIDTH
    ) -> Self:
        """Draw the diagrams.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw: one Axes, whose place the panels take, or one for each panel; by default
            a new figure, with a legend.
        counts : {"below", "none"}, default="below"
            A strip with the number of rows in each bin, or none.
        gap_width : float, default=0.3
            Width of the gap bars, as a part of the bin's.

        Returns
        -------
        self : BeforeAfterDisplay
            With the panels as ``axes_``, the figure as ``figure_`` and the artists.
        """
        names = [curve.name for curve in next(iter(self.rows.values()))]
        n_rows, n_columns = len(self.rows), len(names)
        n_first = n_columns - len(self.positions)
        height = 2.55 if counts == "below" else 2.15
        with house_style():
            panels = panel_axes(ax, n_rows, n_columns, 2.1 * n_columns + 0.5, height * n_rows + 0.5)
            titles = [*names[:n_first], *drawn(names[n_first:], 17, self.positions)]
            # Those of the columns stand above the first row only.
            titles += [""] * (len(panels) - n_columns)
            curves = [curve for row in self.rows.values() for curve in row]
            artists = draw_panels(panels, curves, titles, n_columns, counts, gap_width)
            methods = drawn(list(self.rows), 24)
            for panel, method in zip(panels[::n_columns], methods, strict=True):
                panel.set_ylabel(f"{method}\nobserved")
            if ax is None:
                legend_below(panels[0], {key: several[0] for key, several in artists.items()})
        vars(self).update(artists)
        return self._keep(panels, ax)
