"""Figures of one or more Displays, as small SVG files that are the same each time."""

import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dircal.plots import RankDisplay, house_style
from experiments._shared.ranking import Ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Panel", "Picture", "rank_panel", "to_svg"]

# Names of clip paths and markers are drawn with this, and not at random.
_SALT = "dircal"


@dataclass(frozen=True)
class Panel:
    """A Display with a title of its own, a label of its horizontal axis, and options of `plot`."""

    display: Any
    title: str = ""
    xlabel: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """One panel in a figure as large as it needs, or several in a figure of a given size.

    ``places`` names the panel of each cell of a grid by its number, row by row; ``size`` is in
    inches.
    """

    panels: tuple[Panel, ...]
    places: tuple[tuple[int, ...], ...] = ()
    size: tuple[float, float] = (0.0, 0.0)

    def draw(self) -> "Figure":
        """Draw all panels."""
        if not self.places:
            (panel,) = self.panels
            figure: Figure = panel.display.plot(**panel.options).figure_
            return figure
        return self._draw_grid()

    def _draw_grid(self) -> "Figure":
        import matplotlib.pyplot as plt
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        with house_style():
            layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, wspace=0.03, hspace=0.03)
            figure = plt.figure(figsize=self.size, layout=layout)
            axes = figure.subplot_mosaic([list(row) for row in self.places])
            # Displays look at how much room they have: let the panels take it before.
            for ax in axes.values():
                ax.set_axis_off()
            figure.draw_without_rendering()
            for i, panel in enumerate(self.panels):
                axes[i].set_axis_on()
                panel.display.plot(axes[i], **panel.options)
                _write_on(panel.display.ax_, panel)
            handles, labels = axes[0].get_legend_handles_labels()
            if handles:
                figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
        return figure


def _write_on(ax: Any, panel: Panel) -> None:
    """Put the panel's own words where the Display has its."""
    if panel.title:
        place = "center" if ax.get_title(loc="center") else "left"
        ax.set_title(panel.title, loc=place)
    if panel.xlabel:
        ax.set_xlabel(panel.xlabel)


def rank_panel(ranking: Ranking, name: str, unit: str) -> Panel:
    """Average ranks on a line, with bars over methods that do not differ."""
    display = RankDisplay(
        ranking.ranks.to_numpy(),
        tuple(ranking.ranks.index),
        ranking.n,
        ranking.difference,
        ranking.pvalue,
    )
    return Panel(display, f"{name}: Friedman p = {ranking.pvalue:.3g}, {ranking.n} {unit}")


def to_svg(figure: "Figure") -> bytes:
    """The figure as text without dates and digits that no eye can see; closes it."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    # Letters as outlines: the same everywhere, whatever fonts the reader has.
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": _SALT}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    plt.close(figure)
    drawn = _shrink(file.getvalue().decode())
    return drawn.replace("<svg", f"<!-- matplotlib {mpl.__version__} -->\n<svg", 1).encode()


def _shrink(text: str) -> str:
    """Round places to a hundredth of a point, name styles that occur often, drop empty wrapping."""
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(
        r'(?<= d=")[^"]*|translate\([^)]*\)|(?<= [xy]=")[^"]*',
        lambda found: re.sub(r"-?\d+\.\d+", _rounded, found[0]),
        text,
    )
    text = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", path[0]), text)
    # Letters: short names, and places without words around them.
    text = re.sub(r'(?<=["#])(?:DejaVuSans(-Bold)?)-(?=[0-9a-f]+")', _letter, text)
    text = re.sub(r' transform="translate\(([-\d.]+) 0\)"', r' x="\1"', text)
    often = [style for style, n in Counter(re.findall(r' style="[^"]*"', text)).items() if n > 1]
    rules = []
    for i, style in enumerate(often):
        text = text.replace(style, f' class="s{i}"')
        rules.append(f".s{i}{{{style[8:-1]}}}")
    text = text.replace("</style>", "".join(rules) + "</style>", 1)
    return re.sub(r"\s*\n\s*", "\n", _unwrap(text))


def _letter(found: re.Match[str]) -> str:
    return "b" if found[1] else "a"


def _unwrap(text: str) -> str:
    """Without groups that say nothing about what they hold."""
    kept: list[bool] = []

    def decide(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] != "</g>":
            kept.append(tag[0] != "<g>")
            return tag[0] if kept[-1] else ""
        return tag[0] if kept.pop() else ""

    return re.sub(r"<g(?:\s[^>]*)?/?>|</g>", decide, text)


def _rounded(found: re.Match[str]) -> str:
    number = f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if number == "-0" else number
