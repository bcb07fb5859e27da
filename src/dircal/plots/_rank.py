"""Which method wins over many datasets: the critical-difference diagram."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from dircal._frames import to_frame
from dircal._numerals import format_pvalue
from dircal._typing import ArrayLike, FloatArray
from dircal.inference import critical_difference, friedman, rank_groups
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._names import drawn
from dircal.plots._results import check_method_names
from dircal.plots._style import INK, house_style, one_axes, width_of
from dircal.tables import check_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RankDisplay"]

# Units of the vertical axis: one is the height of a line of text.
_RULER = -1.9
_FIRST_BAR = 0.55
_BAR_STEP = 0.42
_AXIS_INCHES = 4.4
_LETTER_INCHES = 0.078
_LINE_INCHES = 0.22


class RankDisplay(AbstractDisplay):
    """Average ranks of methods over datasets, and which of them cannot be told apart.

    Make it with `from_values` or `from_ranks`.

    Parameters
    ----------
    ranks : array (m,)
        Average rank of each method; 1 is best.
    names : tuple of str
        Their names.
    n_datasets : int
        Number of datasets.
    difference : float
        The critical difference.
    pvalue : float or None
        That of Friedman's test, where it is known.

    Attributes
    ----------
    groups : list of lists of int
        Positions of the methods that a thick bar joins.
    ax_ : matplotlib Axes
        The picture, after `plot`.
    figure_ : matplotlib Figure
        Its figure.
    names_ : list of matplotlib Text
        The names, best first.
    bars_ : list of matplotlib Line2D
        The thick bars, one for each group.
    ruler_ : matplotlib Line2D
        As long as the critical difference.

    Notes
    -----
    Ranks, critical difference and groups are those of `average_ranks`, `critical_difference` and
    `rank_groups`. The title has the p-value of `friedman` and the number of datasets. These are
    figures 3a, S5, S6, S9 and S11 of the paper.

    **When not to use it.** Ranks do not tell how much better a method is, and datasets that are
    related, such as several networks on one test set, count as if they were not.

    Examples
    --------
    >>> from dircal.plots import RankDisplay
    >>> losses = [[0.1, 0.2, 0.3], [0.2, 0.4, 0.5], [0.1, 0.3, 0.2]]
    >>> display = RankDisplay.from_values(losses, names=["Dirichlet", "temperature", "none"])
    >>> [round(rank, 2) for rank in display.to_frame()["rank"]]
    [1.0, 2.33, 2.67]
    >>> display.to_frame()["group"].tolist()
    ['1', '1', '1']
    >>> display.plot().names_[0].get_text()
    'Dirichlet  1.00'
    """

    title = "Critical-difference diagram"
    how_to_read = (
        "Each method hangs at its average rank; the best is on the left. A thick bar joins methods "
        "whose ranks differ by less than the ruler on top, so that the difference may be chance."
    )

    def __init__(
        self,
        ranks: FloatArray,
        names: tuple[str, ...],
        n_datasets: int,
        difference: float,
        pvalue: float | None,
    ) -> None:
        self.ranks = ranks
        self.names = names
        self.n_datasets = n_datasets
        self.difference = difference
        self.pvalue = pvalue

    @classmethod
    def from_values(
        cls,
        values: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        best: Literal["lowest", "highest"] = "lowest",
        alpha: float = 0.05,
        method: Literal["bonferroni_dunn", "nemenyi"] = "bonferroni_dunn",
    ) -> Self:
        """Rank methods by their results.

        Parameters
        ----------
        values : array-like (n, m)
            A row for each dataset, a column for each method.
        names : list of str, optional
            Names of the methods.
        best : {"lowest", "highest"}, default="lowest"
            Which values are good.
        alpha : float, default=0.05
            Chance of a false alarm that is accepted.
        method : {"bonferroni_dunn", "nemenyi"}, default="bonferroni_dunn"
            Which `critical_difference`: every method with one, or all with all.

        Returns
        -------
        display : RankDisplay
            Ready to be drawn.
        """
        test = friedman(values, best=best)
        m, n = len(test.average_ranks), test.n_datasets
        return cls(
            test.average_ranks,
            check_method_names(names, m),
            n,
            critical_difference(m, n, alpha=alpha, method=method),
            test.pvalue,
        )

    @classmethod
    def from_ranks(
        cls,
        average_ranks: ArrayLike,
        n_datasets: int,
        *,
        names: Sequence[str] | None = None,
        alpha: float = 0.05,
        method: Literal["bonferroni_dunn", "nemenyi"] = "bonferroni_dunn",
        pvalue: float | None = None,
    ) -> Self:
        """Take average ranks from elsewhere, for example from a printed table.

        Parameters
        ----------
        average_ranks : array-like (m,)
            Average rank of each method; 1 is best.
        n_datasets : int
            Number of datasets.
        names : list of str, optional
            Names of the methods.
        alpha : float, default=0.05
            Chance of a false alarm that is accepted.
        method : {"bonferroni_dunn", "nemenyi"}, default="bonferroni_dunn"
            Which `critical_difference`: every method with one, or all with all.
        pvalue : float, optional
            That of Friedman's test, for the title.

        Returns
        -------
        display : RankDisplay
            Ready to be drawn.
        """
        ranks = check_ranks("average_ranks", average_ranks)
        m = len(ranks)
        if ranks.min() < 1 or ranks.max() > m:
            wrong = ranks[(ranks < 1) | (ranks > m)][0]
            raise ValueError(
                f"`average_ranks` must lie between 1 and {m}, the number of methods; got {wrong:g}."
                " Pass the result of `average_ranks`."
            )
        difference = critical_difference(m, n_datasets, alpha=alpha, method=method)
        return cls(ranks, check_method_names(names, m), n_datasets, difference, pvalue)

    @property
    def groups(self) -> list[list[int]]:
        """Positions of the methods that a thick bar joins."""
        return rank_groups(self.ranks, self.difference)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each method, best first.

        Returns
        -------
        frame : data frame, or dict of lists
            ``method``, its average ``rank``, ``group`` with the numbers of the thick bars that it
            hangs on, and in every row ``critical_difference`` and ``n_datasets``.
        """
        order = self._order()
        groups = self.groups
        member_of = [
            " ".join(str(g + 1) for g, members in enumerate(groups) if j in members) for j in order
        ]
        return to_frame(
            make_frame(
                method=[self.names[j] for j in order],
                rank=self.ranks[order],
                group=member_of,
                critical_difference=[self.difference] * len(order),
                n_datasets=[self.n_datasets] * len(order),
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure that is as large as the names need.

        Returns
        -------
        self : RankDisplay
            With the Axes as ``ax_``, the figure as ``figure_`` and the artists.
        """
        m = len(self.names)
        spans = [self.ranks[members] for members in self.groups]
        levels = _levels([(float(one.min()), float(one.max())) for one in spans])
        first_name = _FIRST_BAR + _BAR_STEP * (max(levels, default=-1) + 1) + 0.9
        bottom = first_name + (m + 1) // 2
        with house_style():
            # In given Axes names take at most a third of the width on each side.
            given = None if ax is None else width_of(ax)
            letters = 32 if given is None else int((given / 3 - 0.35) / _LETTER_INCHES)
            short = drawn(self.names, max(letters - 6, 3))
            texts = [f"{short[j]}  {self.ranks[j]:.2f}" for j in self._order()]
            side = _LETTER_INCHES * max(len(text) for text in texts) + 0.35
            axis = _AXIS_INCHES if given is None else max(given - 2 * side, 0.3 * given)
            height = _LINE_INCHES * (bottom - _RULER + 1.2) + 0.35
            panel = one_axes(ax, axis + 2 * side, height)
            # Names stand beside the axis of ranks, in room that is kept for them.
            room = (m - 1) * side / axis
            panel.set(xlim=(1 - room, m + room), ylim=(bottom, _RULER - 0.7))
            panel.set_axis_off()
            self._draw_axis(panel)
            self.bars_ = [
                panel.plot(
                    [one.min() - 0.004 * m, one.max() + 0.004 * m],
                    [_FIRST_BAR + _BAR_STEP * level] * 2,
                    color=INK,
                    linewidth=3.6,
                    solid_capstyle="butt",
                )[0]
                for one, level in zip(spans, levels, strict=True)
            ]
            self.names_ = self._draw_names(panel, texts, first_name, room)
            heading = f"{self.n_datasets:,} datasets"
            if self.pvalue is not None:
                heading = f"Friedman {format_pvalue(self.pvalue, name='p')}, {heading}"
            panel.set_title(heading, loc="center")
        return self._keep([panel], ax)

    def _order(self) -> list[int]:
        order: list[int] = np.argsort(self.ranks, kind="stable").tolist()
        return order

    def _draw_axis(self, ax: "Axes") -> None:
        m = len(self.names)
        ax.plot([1, m], [0, 0], color=INK, linewidth=0.9)
        step = 1 if m <= 20 else 5
        for rank in range(1, m + 1):
            ax.plot([rank, rank], [0, -0.3], color=INK, linewidth=0.9)
            if (rank - 1) % step == 0:
                ax.text(rank, -0.42, str(rank), ha="center", va="bottom", fontsize=8.5)
        end = 1 + self.difference
        (self.ruler_,) = ax.plot([1, end], [_RULER, _RULER], color=INK, linewidth=1.4)
        for x in (1, end):
            ax.plot([x, x], [_RULER - 0.18, _RULER + 0.18], color=INK, linewidth=1.4)
        ax.text(end, _RULER, f"  CD = {self.difference:.2f}", ha="left", va="center", fontsize=8.5)

    def _draw_names(self, ax: "Axes", texts: list[str], first: float, room: float) -> list[Any]:
        """The better half on the left, the other on the right, each on a line of its own."""
        m = len(texts)
        half = (m + 1) // 2
        drawn_names = []
        for i, j in enumerate(self._order()):
            left = i < half
            line = first + (i if left else m - 1 - i)
            rank, edge = self.ranks[j], 1 - 0.06 * room if left else m + 0.06 * room
            ax.plot([rank, rank, edge], [0, line, line], color=INK, linewidth=0.8)
            x = edge - 0.04 * room if left else edge + 0.04 * room
            drawn_names.append(
                ax.text(x, line, texts[i], ha="right" if left else "left", va="center")
            )
        return drawn_names


def _levels(spans: list[tuple[float, float]]) -> list[int]:
    """A line for each bar, such that bars on one line do not touch."""
    ends: list[float] = []
    levels = []
    for low, high in spans:
        free = [level for level, end in enumerate(ends) if end < low - 1e-9]
        level = free[0] if free else len(ends)
        if free:
            ends[level] = high
        else:
            ends.append(high)
        levels.append(level)
    return levels
