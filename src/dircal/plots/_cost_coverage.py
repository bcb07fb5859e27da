"""What errors and decisions cost, for any share of rows that is left to the model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._typing import ArrayLike, FloatArray
from dircal.decide import CostTable, DecidedRows, labelled_rows, paid
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._results import check_mapping
from dircal.plots._style import INK, colours_of, house_style, panel_axes
from dircal.tables import check_number

__all__ = ["CostCoverageDisplay"]


@dataclass(frozen=True)
class CostCurve:
    """What happens if the surest rows are decided by the model, and the others by a person.

    ``coverage``, ``risk`` and ``cost`` are of one length; ``stop`` is the coverage, and the cost
    there, that the probabilities themselves ask for. The last two are None without costs.
    """

    name: str
    coverage: FloatArray
    risk: FloatArray
    cost: FloatArray | None = None
    stop: tuple[float, float] | None = None


class CostCoverageDisplay(AbstractDisplay):
    r"""Errors, and costs, by the share of rows that the model decides.

    Make it with `from_predictions`.

    Parameters
    ----------
    curves : list of curves
        What `from_predictions` computes.
    ask : float or None
        What it costs to ask a person about a row; None without costs.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    axes_ : array of matplotlib Axes
        The panel of errors, and that of costs where there are some.
    lines_ : list of matplotlib Line2D
        One for each name in each panel.

    Notes
    -----
    Rows are ordered by their confidence, the surest first, and at a coverage c the first c n are
    decided by the model: *risk* is the share of errors among these. Where there are costs, rows are
    ordered by what is expected to be saved by not asking,
    :math:`\text{ask} - \min_a \sum_j p_{ij} c_{ja}`, and *cost* is the mean over all rows: what the
    best action has cost in the first c n, and a question in the others. The dot marks the coverage
    that the probabilities themselves ask for.

    **When not to use it.** On rows that a map was fitted on. To promise a bound on errors: the
    curve is an estimate, `dircal.decide.rejection_rule` is a promise.

    Examples
    --------
    >>> from dircal.plots import CostCoverageDisplay
    >>> y_prob = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> display = CostCoverageDisplay.from_predictions([0, 1, 1, 0], {"model": y_prob})
    >>> display.to_frame()["risk"].tolist()
    [0.0, 0.5, 0.333..., 0.25]
    >>> display.plot().ax_.get_ylabel()
    'share of errors among decided rows'
    """

    title = "Errors and costs by coverage"
    how_to_read = (
        "To the left only the surest rows are decided by the model, to the right all of them. The "
        "lower the curve, the better. Where costs are drawn, the rows that are left out are asked "
        "about, the dashed line is to ask about all, and the dot is where the probabilities "
        "themselves would stop: calibrated ones stop near the bottom of their curve."
    )

    def __init__(self, curves: list[CostCurve], ask: float | None) -> None:
        self.curves = curves
        self.ask = ask

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike | Mapping[str, ArrayLike],
        *,
        costs: CostTable | None = None,
        ask: float | None = None,
        classes: Iterable[Any] | None = None,
    ) -> Self:
        """Follow errors and costs from the surest row to the least sure.

        Parameters
        ----------
        y_true : array-like (n,)
            True labels.
        y_prob : array-like (n, k), or dict from str to array-like
            Probabilities, or several by name, such as before and after calibration.
        costs : CostTable, optional
            What each action costs in each class, the question not among them.
        ask : float, optional
            What it costs to ask a person; needed with ``costs``.
        classes : array-like (k,), optional
            Label of each column.

        Returns
        -------
        display : CostCoverageDisplay
            Ready to be drawn.
        """
        several = y_prob if isinstance(y_prob, Mapping) else {"model": y_prob}
        given = check_mapping("y_prob", several, "its probabilities")
        if (costs is None) != (ask is None):
            raise ValueError(
                f"`costs` and `ask` belong together; got costs={costs!r} and ask={ask!r}. Pass "
                "both, or neither for errors alone."
            )
        if ask is not None:
            check_number("ask", ask)
        known = costs.classes if costs is not None and classes is None else classes
        rows = {name: labelled_rows(y_true, one, known) for name, one in given.items()}
        return cls.of_rows(rows, costs, ask)

    @classmethod
    def of_rows(
        cls, given: Mapping[str, DecidedRows], costs: CostTable | None, ask: float | None
    ) -> Self:
        """The same of rows that have passed the door."""
        curves = []
        for name, rows in given.items():
            wrong = rows.proba.argmax(axis=1) != rows.labels
            coverage, risk = _running(rows.proba.max(axis=1), wrong.astype(np.float64))
            curve = CostCurve(name, coverage, risk)
            if costs is not None and ask is not None:
                costs.require_classes(rows.classes)
                found = paid(rows, costs)
                curve = _with_costs(curve, ask - found.choice.cost, found.costs, ask)
            curves.append(curve)
        return cls(curves, ask)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each point of each curve.

        Returns
        -------
        frame : data frame, or dict of lists
            ``name``, ``coverage``, ``risk``, and ``cost`` where there are costs.
        """
        columns: dict[str, Any] = {
            "name": [one.name for one in self.curves for _ in one.coverage],
            "coverage": np.concatenate([one.coverage for one in self.curves]),
            "risk": np.concatenate([one.risk for one in self.curves]),
        }
        if self.ask is not None:
            columns["cost"] = np.concatenate([_cost_of(one) for one in self.curves])
        return to_frame(make_frame(**columns))

    def plot(self, ax: Any = None) -> Self:
        """Draw a panel of errors, and one of costs where there are some.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        self : CostCoverageDisplay
            With the Axes as ``ax_`` and ``axes_``, the figure as ``figure_`` and the lines.
        """
        colours = colours_of(one.name for one in self.curves)
        self.lines_ = []
        with house_style():
            n_panels = 1 if self.ask is None else 2
            panels = panel_axes(ax, 1, n_panels, 3.8 * n_panels, 3.0)
            for one in self.curves:
                style: Any = {"color": colours[one.name], "label": one.name}
                self.lines_ += panels[0].plot(100 * one.coverage, 100 * one.risk, **style)
                if one.stop is not None:
                    self.lines_ += panels[1].plot(100 * one.coverage, _cost_of(one), **style)
                    panels[1].plot(100 * one.stop[0], one.stop[1], "o", color=colours[one.name])
            panels[0].set(ylabel="share of errors among decided rows")
            panels[0].yaxis.set_major_formatter("{x:g} %")
            if self.ask is not None:
                panels[1].axhline(self.ask, color=INK, linestyle="--", linewidth=0.8)
                panels[1].set(ylabel="mean cost of a row")
            for panel in panels:
                panel.set(xlim=(0, 100), xlabel="share of rows that the model decides")
                panel.set_ylim(bottom=min(0.0, panel.get_ylim()[0]))
                panel.xaxis.set_major_formatter("{x:g} %")
            panels[0].set_title(self.title)
            panels[-1].legend(loc="best")
        return self._keep(list(panels), ax)


def _with_costs(curve: CostCurve, saved: FloatArray, costs: FloatArray, ask: float) -> CostCurve:
    """The same with what not asking is expected to save, and what it has cost, of each row (n,)."""
    _, mean = _running(saved, costs)
    cost = curve.coverage * mean + (1.0 - curve.coverage) * ask
    stop = float(np.mean(saved > 0.0)), float(np.where(saved > 0.0, costs, ask).mean())
    return replace(curve, cost=cost, stop=stop)


def _running(order_by: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of the rows, the largest first, and the mean of ``values`` (n,) over these."""
    n = len(values)
    sums = np.cumsum(values[np.argsort(-order_by, kind="stable")])
    counts = np.unique(
        np.linspace(1, n, min(n, PLOT_LIMITS.get().n_points)).round().astype(np.int64)
    )
    return counts / n, sums[counts - 1] / counts


def _cost_of(curve: CostCurve) -> FloatArray:
    assert curve.cost is not None
    return curve.cost
