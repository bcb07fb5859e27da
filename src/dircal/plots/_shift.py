"""What has changed, in one picture: classes before and after a shift."""

from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import drawn
from dircal.plots._style import house_style, one_axes
from dircal.shift import Finding, ShiftReport

__all__ = ["ShiftDisplay"]


class ShiftDisplay(AbstractDisplay):
    """The findings of a shift report, the surest on top, from before to now.

    Make it with `from_report`.

    Parameters
    ----------
    findings : list of Finding
        What is drawn, the surest first.
    level : float
        Findings with a larger adjusted p-value are drawn pale.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The picture, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    dots_ : matplotlib PathCollection
        A dot for each finding, where it is now.

    Notes
    -----
    Frequencies are shares of the rows; all else is a difference between what is said and what
    happens, which would be zero if nothing were wrong.

    **When not to use it.** With very many classes only the surest findings are drawn; `frame` has
    the others neither, but the report has.

    Examples
    --------
    >>> from dircal import GenerativeParameters, VectorScaling
    >>> from dircal.plots import ShiftDisplay
    >>> from dircal.shift import shift_report
    >>> alpha = [[3.0, 1.0], [1.0, 3.0]]
    >>> before, after = (GenerativeParameters(alpha, pi) for pi in ([0.5, 0.5], [0.8, 0.2]))
    >>> old = VectorScaling().fit(*before.sample(2000, 0))
    >>> report = shift_report(old, *before.sample(1000, 1), *after.sample(1000, 2))
    >>> ShiftDisplay.from_report(report).to_frame()["finding"][0]
    'frequency of 0'
    """

    title = "What has changed"
    how_to_read = (
        "Each line leads from before, the hollow dot, to now, the full one. Dark lines are more "
        "than chance. Frequencies are shares; everything else should be zero."
    )

    def __init__(self, findings: list[Finding], level: float) -> None:
        self.findings = findings
        self.level = level

    @classmethod
    def from_report(cls, report: ShiftReport) -> Self:
        """Take the surest findings of a report.

        Parameters
        ----------
        report : ShiftReport
            What `shift_report` returned.

        Returns
        -------
        display : ShiftDisplay
            Ready to be drawn.
        """
        return cls(list(report.findings[: PLOT_LIMITS.get().max_findings]), report.level)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each finding, the surest first.

        Returns
        -------
        frame : data frame, or dict of lists
            ``finding``, ``old`` and ``new``, and the p-value ``adjusted`` for all of them.
        """
        return to_frame(
            make_frame(
                finding=[_name(one) for one in self.findings],
                old=[one.old for one in self.findings],
                new=[one.new for one in self.findings],
                adjusted=[one.adjusted for one in self.findings],
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the findings.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        self : ShiftDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the dots.
        """
        n = len(self.findings)
        old, new = ([getattr(one, end) for one in self.findings] for end in ("old", "new"))
        colours = ["#1f4e79" if one.adjusted < self.level else "#b5b5b5" for one in self.findings]
        with house_style():
            panel = one_axes(ax, 6.4, 0.3 * n + 1.0)
            rows = np.arange(n)
            panel.axvline(0.0, color="#444444", linewidth=0.8)
            panel.hlines(rows, old, new, colors=colours, linewidth=1.6)
            panel.scatter(old, rows, s=26, facecolors="white", edgecolors=colours, zorder=3)
            self.dots_ = panel.scatter(new, rows, s=26, c=colours, zorder=4)
            panel.set_yticks(rows, drawn([_name(one) for one in self.findings], 34))
            panel.set_ylim(n - 0.4, -0.6)
            panel.set_xlabel("share of the rows, before (hollow) and now")
        return self._keep([panel], ax)


def _name(finding: Finding) -> str:
    if finding.aspect == "sharpness":
        return "confidence less accuracy"
    if finding.aspect == "confusion":
        return f"{finding.labels[1]} taken for {finding.labels[0]}"
    what = "frequency of" if finding.aspect == "frequency" else "said less seen:"
    return f"{what} {finding.labels[0]}"
