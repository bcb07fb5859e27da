"""The e-value of a monitor over time."""

from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._typing import FloatArray, IntArray
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._style import house_style, one_axes
from dircal.shift import Alarm, CalibrationMonitor

__all__ = ["MonitorDisplay"]


class MonitorDisplay(AbstractDisplay):
    """The e-value of a stream over its rows, with the alarm and the beginning of the shift.

    Make it with `from_monitor`.

    Parameters
    ----------
    rows : array of shape (n,)
        Numbers of rows.
    log10_e : array of shape (n,)
        Logarithm of the e-value then, to base 10.
    level : float
        Of the monitor: one over it is an alarm.
    alarm : Alarm or None
        What was found.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The picture, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The e-value.

    Notes
    -----
    The e-value is what a gambler has made of one coin by betting against the probabilities.
    On a logarithmic scale it falls slowly while they are calibrated, and rises in a straight line
    once they are not.

    **When not to use it.** A monitor with groups has a curve for each, and keeps none.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal.plots import MonitorDisplay
    >>> from dircal.shift import CalibrationMonitor
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1], size=300)
    >>> monitor = CalibrationMonitor(classes=["no", "yes"]).update(p, ["no"] * 300)
    >>> MonitorDisplay.from_monitor(monitor).plot().ax_.get_xlabel()
    'labelled rows'
    """

    title = "E-value of a stream"
    how_to_read = (
        "The line is what betting against the probabilities has made of one coin. While they are "
        "calibrated it stays low; above the dashed line they are not."
    )

    def __init__(
        self, rows: IntArray, log10_e: FloatArray, level: float, alarm: Alarm | None
    ) -> None:
        self.rows = rows
        self.log10_e = log10_e
        self.level = level
        self.alarm = alarm

    @classmethod
    def from_monitor(cls, monitor: CalibrationMonitor) -> Self:
        """Take the curve that a monitor has kept.

        Parameters
        ----------
        monitor : CalibrationMonitor
            Of one stream, with some rows.

        Returns
        -------
        display : MonitorDisplay
            Ready to be drawn.
        """
        rows, log10_e = monitor.trace_
        if len(rows) == 0:
            raise ValueError(
                "`monitor` has no curve to draw: it has seen no rows, or has groups. Update it "
                "with rows of one stream."
            )
        alarms = monitor.alarms_
        return cls(rows, log10_e, monitor.level, alarms[0] if alarms else None)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each point.

        Returns
        -------
        frame : data frame, or dict of lists
            ``row`` and ``log10_e``.
        """
        return to_frame(make_frame(row=self.rows, log10_e=self.log10_e))

    def plot(self, ax: Any = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        self : MonitorDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the line.
        """
        enough = -float(np.log10(self.level))
        with house_style():
            panel = one_axes(ax, 6.4, 2.8)
            (self.line_,) = panel.plot(self.rows, self.log10_e, linewidth=1.4)
            panel.axhline(enough, color="#444444", linestyle="--", linewidth=0.8)
            if self.alarm is not None:
                # On the side where there is more room.
                late = 2 * self.alarm.began > self.rows[-1]
                panel.axvline(self.alarm.began, color="#444444", linestyle=":", linewidth=1.0)
                panel.plot([self.alarm.row], [enough], marker="o", color="#c1272d", markersize=5)
                panel.annotate(
                    f"shift from row {self.alarm.began:,}\nalarm at row {self.alarm.row:,}",
                    (self.alarm.began, 1.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(-6 if late else 6, -4),
                    textcoords="offset points",
                    ha="right" if late else "left",
                    va="top",
                    fontsize=8,
                )
            panel.set_xlabel("labelled rows")
            panel.set_ylabel("log10 of the e-value")
        return self._keep([panel], ax)
