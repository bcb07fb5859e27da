"""The figure: how much the curved map gains on one temperature, by source and by training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dircal.plots import house_style
from experiments._pictures import to_svg
from experiments._shared.files import write_whole

from ._files import Results
from ._gains import Gain
from ._networks import OPTIONS, attributes_of
from ._study import MAIN, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FIGURE", "Line", "draw_figure", "lines_of_sources", "lines_of_trainings"]

FIGURE = "figures/gains.svg"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000")
"""Told apart also without red and green."""
_TICKS = (-50, -20, -10, -5, -2, 0, 1, 2, 3, 5, 10, 20, 50)
_LINTHRESH = 5.0
"""Percent up to which the axis is linear; beyond, it is logarithmic."""


class Line(NamedTuple):
    """One line of the figure: a gain with its interval, and those of the networks behind it."""

    label: str
    group: str
    gain: Gain
    dots: tuple[float, ...] = ()


def draw_figure(results: Results) -> None:
    """Write the figure."""
    write_whole(results.folder / FIGURE, to_svg(_draw(Study(results))))


def lines_of_sources(study: Study) -> list[Line]:
    """A line for each source, the largest gain first."""
    lines = []
    for source, gain in study.sources().items():
        own = study.networks.index[study.networks["source"] == source]
        own = [name for name in own if study.networks.loc[name, "kind"] == "network"]
        dots = tuple(study.relative.loc[own, MAIN]) if len(own) > 1 else ()
        label = f"{source} ({len(own)})" if len(own) > 1 else source
        lines.append(Line(label, study.recipe_of(source), gain, dots))
    return lines


def lines_of_trainings(study: Study) -> list[Line]:
    """A line for each training, network by network."""
    return [
        Line(f"{network}, {OPTIONS.get(option, option)}", _recipe(network, option), gain)
        for network, gains in study.trained().items()
        for option, gain in sorted(gains.items(), key=lambda item: _place(item[0]))
    ]


def _recipe(network: str, option: str) -> str:
    return attributes_of(f"{network}_{option}").recipe


def _place(option: str) -> int:
    known = list(OPTIONS)
    return known.index(option) if option in known else len(known)


def _draw(study: Study) -> "Figure":
    import matplotlib.pyplot as plt

    sources, trainings = lines_of_sources(study), lines_of_trainings(study)
    parts = {
        "Sources, several networks (their number) averaged": sources,
        "Trained for this": trainings,
    }
    parts = {title: lines for title, lines in parts.items() if lines}
    heights = [len(lines) + 3 for lines in parts.values()]
    with house_style():
        figure = plt.figure(figsize=(8.6, 0.21 * sum(heights) + 0.6), layout="constrained")
        panels = figure.subplots(len(parts), height_ratios=heights, squeeze=False)[:, 0]
        for ax, (title, lines) in zip(panels, parts.items(), strict=True):
            _draw_lines(ax, title, lines)
        if sources:
            _explain(panels[0], sources)
        panels[-1].set_xlabel("log-loss lower than with one temperature by, %")
    return figure


def _colours(lines: Sequence[Line]) -> dict[str, str]:
    groups = sorted({line.group for line in lines})
    return {group: _COLOURS[i % len(_COLOURS)] for i, group in enumerate(groups)}


def _draw_lines(ax: "Axes", title: str, lines: Sequence[Line]) -> None:
    colours = _colours(lines)
    for place, line in enumerate(lines):
        colour = colours[line.group]
        ends = [100 * line.gain.low, 100 * line.gain.high]
        ax.plot(ends, [place, place], color=colour, linewidth=1.6)
        dots = [100 * dot for dot in line.dots]
        ax.plot(dots, [place] * len(dots), "o", color="#999999", markersize=2.2, alpha=0.8)
        ax.plot(100 * line.gain.value, place, "o", color=colour, markersize=5)
    ax.axvline(0.0, color="#222222", linewidth=0.8)
    ax.set_xscale("symlog", linthresh=_LINTHRESH)
    ticks = [tick for tick in _TICKS if _within(ax, tick)]
    ax.set_xticks(ticks, [f"{tick:d}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_yticks(range(len(lines)), [line.label for line in lines], fontsize=7)
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.set_title(title, loc="left")


def _explain(ax: "Axes", lines: Sequence[Line]) -> None:
    """What the colours of sources are; trainings name their option themselves."""
    handles = [
        ax.plot([], [], "o-", color=colour, label=group)[0]
        for group, colour in _colours(lines).items()
    ]
    ax.legend(handles=handles, fontsize=7, loc="lower right")


def _within(ax: "Axes", value: float) -> bool:
    low, high = ax.get_xlim()
    return low <= value <= high
