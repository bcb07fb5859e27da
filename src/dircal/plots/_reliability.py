"""Whether the model is right as often as it is sure."""

from collections.abc import Iterable
from typing import Any, Self

from dircal._frames import to_frame
from dircal._typing import ArrayLike
from dircal.metrics import Binning, ConfidenceRows, Predictions, Strategy, check_bins
from dircal.plots._base import AbstractDisplay
from dircal.plots._reliability_curves import (
    GAP_WIDTH,
    Counts,
    Curve,
    check_level,
    confidence_curve,
    curves_frame,
    draw_curve,
    legend_below,
)
from dircal.plots._stored_curves import check_curve
from dircal.plots._style import house_style, one_axes

__all__ = ["ReliabilityDisplay"]

_NAME = "confidence"


class ReliabilityDisplay(AbstractDisplay):
    """Reliability diagram: whether the model is right as often as it is sure.

    Make it with `from_predictions`, `from_confidence` or `from_bins`.

    Parameters
    ----------
    curve : curve
        What the ``from_...`` methods compute.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The panel, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    bars_, gaps_, band_, counts_ : matplotlib containers
        The bars of each kind; None where there is none.
    diagonal_ : matplotlib Line2D
        Where a calibrated model lies.

    Notes
    -----
    The consistency band is where the top of a bar lies with probability ``level`` if every
    prediction is true: exact quantiles of the number of right rows in the bin. It is for one bin at
    a time, so of 15 bars of a calibrated model one may well lie outside of its band of 95 %. There
    is no band with sample weights, for the reason that `calibration_test` has none.

    **When not to use it.** It shows the largest probability of each row only. A model may look
    perfect here and be wrong for every class: look at `ClasswiseReliabilityDisplay`, too.

    Examples
    --------
    >>> from dircal.plots import ReliabilityDisplay
    >>> y_prob = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], y_prob, n_bins=2)
    >>> display.to_frame()["frequency"].tolist()
    [0.75]
    >>> display.plot().ax_.get_xlabel()
    'confidence'
    """

    title = "Reliability of the confidence"
    how_to_read = (
        "Each bar holds the rows of similar confidence and is as high as the share of them that is "
        "right. Bars on the dashed diagonal are calibrated; below it the model is too sure, above "
        "it too timid. The narrow bar is the gap between both, the bracket is where the bar "
        "would end by chance if nothing were wrong, and the strip below counts the rows on a "
        "logarithmic scale."
    )

    def __init__(self, curve: Curve) -> None:
        self.curve = curve

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        classes: Iterable[Any] | None = None,
        n_bins: int = 15,
        strategy: Strategy = "width",
        binning: Binning = "right_closed",
        level: float | None = 0.95,
    ) -> Self:
        """Compute the diagram from probabilities.

        Parameters
        ----------
        y_true : array-like (n,) or (n, k)
            True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers
            that count annotators.
        y_prob : array-like (n, k), or (n,) for two classes
            Probability of each class, or of the positive one.
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
        display : ReliabilityDisplay
            Ready to be drawn.
        """
        check_level(level)
        predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
        rule = check_bins(n_bins, strategy, binning)
        return cls(confidence_curve(predictions, rule, level, _NAME))

    @classmethod
    def from_confidence(
        cls,
        correct: ArrayLike,
        confidence: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 15,
        strategy: Strategy = "width",
        binning: Binning = "right_closed",
        level: float | None = 0.95,
    ) -> Self:
        """Compute the diagram where only the largest probability of each row is known.

        Parameters
        ----------
        correct : array-like (n,)
            Whether the most probable class was the true one.
        confidence : array-like (n,)
            Its probability.
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
        display : ReliabilityDisplay
            Ready to be drawn.
        """
        check_level(level)
        rows = ConfidenceRows.check(correct, confidence, sample_weight)
        rule = check_bins(n_bins, strategy, binning)
        return cls(confidence_curve(rows, rule, level, _NAME))

    @classmethod
    def from_bins(
        cls, edges: ArrayLike, count: ArrayLike, mean_predicted: ArrayLike, frequency: ArrayLike
    ) -> Self:
        """Draw bins that were counted elsewhere, for example in parts of a large file.

        Parameters
        ----------
        edges : array-like (m + 1,)
            Ends of the bins, as in ``BinTable.edges[0]``.
        count : array-like (m,)
            Rows in each bin.
        mean_predicted : array-like (m,)
            Mean confidence of each bin; anything where it is empty.
        frequency : array-like (m,)
            Share of right rows in each bin; anything where it is empty.

        Returns
        -------
        display : ReliabilityDisplay
            Without a consistency band, which needs the rows.
        """
        return cls(check_curve(_NAME, edges, count, mean_predicted, frequency))

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each bin that holds rows.

        Returns
        -------
        frame : data frame, or dict of lists
            The ends of the bin, its rows, mean prediction, observed frequency, their difference
            ``gap``, and the consistency band from ``low`` to ``high``.
        """
        return to_frame(curves_frame([self.curve]))

    def plot(
        self, ax: Any = None, *, counts: Counts = "below", gap_width: float = GAP_WIDTH
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure, with a legend.
        counts : {"below", "none"}, default="below"
            A strip with the number of rows in each bin, or none.
        gap_width : float, default=0.3
            Width of the gap bars, as a part of the bin's.

        Returns
        -------
        self : ReliabilityDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        with house_style():
            panel = one_axes(ax, 4.6, 5.4 if counts == "below" else 4.6)
            artists = draw_curve(panel, self.curve, counts, gap_width)
            panel.set(xlabel="confidence", ylabel="accuracy")
            panel.set_title(f"confidence-ECE {self.curve.error:.4f}")
            if ax is None:
                legend_below(panel, artists)
            vars(self).update(artists)
            return self._keep([panel], ax)
