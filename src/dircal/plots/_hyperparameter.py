"""Which hyperparameters a search chose, and how often."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dircal._frames import to_frame
from dircal._typing import ArrayLike
from dircal.plots._base import AbstractDisplay, make_frame
from dircal.plots._limits import PLOT_LIMITS
from dircal.plots._names import drawn, shorten
from dircal.plots._results import check_mapping, numbers_of
from dircal.plots._style import PALETTE, count_on, house_style, some_axes

__all__ = ["HyperparameterDisplay"]


@dataclass(frozen=True)
class Choices:
    """How often each value was chosen for one hyperparameter."""

    name: str
    values: tuple[float, ...]
    counts: tuple[float, ...]


class HyperparameterDisplay(AbstractDisplay):
    """Histograms of the hyperparameters that searches chose.

    Make it with `from_values` or `from_counts`.

    Parameters
    ----------
    choices : list of choices
        What the ``from_...`` methods compute.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One panel for each hyperparameter, after `plot`.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : list of matplotlib BarContainer
        The bars of each panel.

    Notes
    -----
    Values stand side by side in rising order, whatever their distances: grids are often
    logarithmic. This is figure S8 of the paper.

    **When not to use it.** For values that are not from a grid nearly every bar has height one.

    Examples
    --------
    >>> from dircal.plots import HyperparameterDisplay
    >>> display = HyperparameterDisplay.from_values(
    ...     {"lam": [1e-3, 1e-3, 1e-2]}, grid=[1e-4, 1e-3, 1e-2]
    ... )
    >>> display.to_frame()["count"].tolist()
    [0, 2, 1]
    >>> [label.get_text() for label in display.plot().ax_.get_xticklabels()]
    ['1e-4', '0.001', '0.01']
    """

    title = "Chosen hyperparameters"
    how_to_read = (
        "Each bar counts how often a search chose the value below it. A tall bar at either end of "
        "the grid says that better values may lie beyond."
    )

    def __init__(self, choices: list[Choices]) -> None:
        self.choices = choices

    @classmethod
    def from_values(
        cls, values: Mapping[str, ArrayLike], *, grid: Iterable[float] | None = None
    ) -> Self:
        """Count the values that were chosen.

        Parameters
        ----------
        values : dict from str to array-like (n,)
            For each hyperparameter the values that its searches chose, for example
            ``{"lam": [search.best_params_["lam"] for search in searches]}``.
        grid : list of float, optional
            All values that could be chosen, so that those never chosen are seen.

        Returns
        -------
        display : HyperparameterDisplay
            Ready to be drawn.
        """
        given = check_mapping("values", values, "the values that were chosen")
        possible = [] if grid is None else numbers_of("grid", "grid", list(grid)).tolist()
        counted: dict[str, dict[float, int]] = {}
        for name, chosen in given.items():
            counter = Counter(numbers_of("values", name, chosen).tolist())
            counted[name] = dict.fromkeys(possible, 0) | dict(counter)
        return cls.from_counts(counted)

    @classmethod
    def from_counts(cls, counts: Mapping[str, Mapping[float, float]]) -> Self:
        """Take counts from elsewhere.

        Parameters
        ----------
        counts : dict from str to dict from float to int
            For each hyperparameter how often each value was chosen.

        Returns
        -------
        display : HyperparameterDisplay
            Ready to be drawn.
        """
        given = check_mapping("counts", counts, "a dict from values to counts")
        choices = []
        for name, table in given.items():
            check_mapping("counts", table, "a dict from values to counts")
            values = np.sort(numbers_of("counts", name, list(table)))
            numbers = [table[value] for value in values.tolist()]
            if numbers_of("counts", name, numbers).min() < 0:
                raise ValueError(
                    f"`counts` must not be negative; {name!r} holds {min(numbers)}. "
                    "Pass how often each value was chosen."
                )
            choices.append(Choices(name, tuple(values.tolist()), tuple(numbers)))
        return cls(choices)

    def to_frame(self) -> Any:
        """The numbers that are drawn: a row for each hyperparameter and value.

        Returns
        -------
        frame : data frame, or dict of lists
            ``name`` of the hyperparameter, ``value`` and ``count``.
        """
        return to_frame(
            make_frame(
                name=[one.name for one in self.choices for _ in one.values],
                value=[value for one in self.choices for value in one.values],
                count=[count for one in self.choices for count in one.counts],
            )
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw: one Axes, whose place the panels take, or one for each hyperparameter;
            by default a new figure.

        Returns
        -------
        self : HyperparameterDisplay
            With the panels as ``axes_``, the figure as ``figure_`` and the bars.
        """
        n = len(self.choices)
        n_columns = min(n, PLOT_LIMITS.get().n_hyperparameter_columns)
        n_rows = -(-n // n_columns)
        with house_style():
            panels = some_axes(ax, n, n_columns, 3.0 * n_columns + 0.4, 2.6 * n_rows)
            titles = drawn([one.name for one in self.choices], 34)
            parts = zip(panels, self.choices, titles, strict=True)
            self.bars_ = [_draw(panel, one, title) for panel, one, title in parts]
        return self._keep(panels, ax)


def _draw(panel: Any, one: Choices, title: str) -> Any:
    places = np.arange(len(one.values))
    bars = panel.bar(places, one.counts, 0.8, color=PALETTE[0])
    texts = [_short(value) for value in one.values]
    crowded = sum(len(text) for text in texts) > 26
    step = max(1, -(-len(texts) // 24))
    panel.set_xticks(places[::step], texts[::step], rotation=90 if crowded else 0)
    panel.set_title(title)
    panel.set_ylabel("times chosen")
    count_on(panel.yaxis)
    panel.margins(x=0.03)
    return bars


def _short(value: float) -> str:
    """Few characters: 0.001, 1e-7, 20."""
    text = f"{value:.4g}"
    if abs(value) < 1e-3 and value != 0:
        mantissa, exponent = f"{value:.2e}".split("e")
        text = f"{float(mantissa):g}e{int(exponent)}"
    return shorten(text, 10)
