"""What chance alone does to a calibration error, and the error that was observed."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._numerals import format_pvalue
from dircal._typing import ArrayLike
from dircal.inference import CalibrationTest, Statistic, calibration_test
from dircal.metrics import Binning, Strategy
from dircal.plots._base import AbstractDisplay, Frame, make_frame
from dircal.plots._style import BAR, GAP, PALETTE, count_on, house_style, one_axes
from dircal.tables import check_integer

__all__ = ["CalibrationTestDisplay"]

_NAMES = {"confidence_ece": "confidence-ECE", "classwise_ece": "classwise-ECE"}


class CalibrationTestDisplay(AbstractDisplay):
    """The calibration test: the observed error among those of a calibrated model.

    Make it with `from_predictions` or `from_test`.

    Parameters
    ----------
    test : CalibrationTest
        The result of `calibration_test`.
    n_bars : int
        Number of bars.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The picture, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : matplotlib BarContainer
        The histogram of the errors that were drawn.
    line_ : matplotlib Line2D
        The observed error.

    Notes
    -----
    **When not to use it.** With very many rows every model fails the test. Look at the size of the
    error, too.

    Examples
    --------
    >>> from dircal.plots import CalibrationTestDisplay
    >>> y_prob = [[0.9, 0.1]] * 50
    >>> y_true = [0] * 25 + [1] * 25
    >>> display = CalibrationTestDisplay.from_predictions(
    ...     y_true, y_prob, n_resamples=200, random_state=0
    ... )
    >>> int(display.to_frame()["count"].sum())
    200
    >>> print(display.plot().line_.get_label())
    observed 0.4000
    """

    title = "Could the calibration error be chance?"
    how_to_read = (
        "The bars show the errors that a perfectly calibrated model would have on as many rows, by "
        "chance alone. The line is the error that was observed: far to the right of the bars it "
        "cannot be chance. The p-value is the share of the bars beyond the line."
    )

    def __init__(self, test: CalibrationTest, n_bars: int) -> None:
        self.test = test
        self.n_bars = n_bars

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        statistic: Statistic = "confidence_ece",
        n_resamples: int = 10_000,
        random_state: int | np.random.Generator | None = 0,
        classes: Iterable[Any] | None = None,
        n_bins: int = 15,
        strategy: Strategy = "width",
        binning: Binning = "right_closed",
    ) -> Self:
        """Run the test.

        Parameters
        ----------
        y_true : array-like (n,)
            True labels.
        y_prob : array-like (n, k), or (n,) for two classes
            Probability of each class, or of the positive one.
        statistic : {"confidence_ece", "classwise_ece"}, default="confidence_ece"
            The measure that is tested.
        n_resamples : int, default=10_000
            Number of draws.
        random_state : int, numpy Generator or None, default=0
            Seed of the draws.
        classes : array-like (k,), optional
            Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the
            columns are in another order.
        n_bins : int, default=15
            Number of bins of the measure.
        strategy : {"width", "mass"}, default="width"
            Bins of equal width, or with equally many rows.
        binning : {"right_closed", "paper_table"}, default="right_closed"
            The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.

        Returns
        -------
        display : CalibrationTestDisplay
            Ready to be drawn.
        """
        test = calibration_test(
            y_true,
            y_prob,
            statistic=statistic,
            n_resamples=n_resamples,
            random_state=random_state,
            classes=classes,
            n_bins=n_bins,
            strategy=strategy,
            binning=binning,
        )
        return cls.from_test(test)

    @classmethod
    def from_test(cls, test: CalibrationTest, *, n_bars: int = 40) -> Self:
        """Take the result of `calibration_test`.

        Parameters
        ----------
        test : CalibrationTest
            The result.
        n_bars : int, default=40
            Number of bars.

        Returns
        -------
        display : CalibrationTestDisplay
            Ready to be drawn.
        """
        check_integer("n_bars", n_bars, at_least=1)
        if not isinstance(test, CalibrationTest):
            raise ValueError(
                f"`test` must be the result of `calibration_test`; got {test!r}. "
                "Pass predictions to from_predictions instead."
            )
        return cls(test, n_bars)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each bar.

        Returns
        -------
        frame : data frame, or dict of lists
            Ends of the bar, ``count`` of the draws in it, and in every row the ``observed`` error
            and the ``pvalue``.
        """
        return to_frame(self._columns())

    def _columns(self) -> Frame:
        sample = self.test.null_sample
        low, high = float(sample.min()), float(sample.max())
        if high - low < 1e-12:
            low, high = low - 0.5e-3, high + 0.5e-3
        count, edges = np.histogram(sample, self.n_bars, (low, high))
        return make_frame(
            lower=edges[:-1],
            upper=edges[1:],
            count=count,
            observed=[self.test.statistic] * len(count),
            pvalue=[self.test.pvalue] * len(count),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the histogram and the observed error.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        self : CalibrationTestDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        columns, test = self._columns(), self.test
        lower, upper = np.array(columns["lower"]), np.array(columns["upper"])
        draws = len(test.null_sample)
        told = "" if test.source == "draws" else f" from {test.source}"
        with house_style():
            panel = one_axes(ax, 5.4, 3.2)
            self.bars_ = panel.bar(
                lower,
                columns["count"],
                upper - lower,
                align="edge",
                color=BAR,
                # Blue as well: of many narrow bars only the edges are seen.
                edgecolor=PALETTE[0],
                linewidth=0.4,
                label=f"calibrated model, {draws:,} draws{told}",
            )
            self.line_ = panel.axvline(
                test.statistic, color=GAP, linewidth=1.8, label=f"observed {test.statistic:.4f}"
            )
            name = _NAMES.get(test.measure, test.measure)
            panel.set(xlabel=name, ylabel="draws")
            count_on(panel.yaxis)
            panel.set_title(f"{format_pvalue(test.pvalue, draws, 'p')}, {test.n_samples:,} rows")
            panel.set_ylim(0, max(columns["count"]) * 1.08)
            if ax is None:
                panel.figure.legend(
                    handles=[self.bars_, self.line_], loc="outside lower center", ncols=2
                )
        return self._keep([panel], ax)
