"""How all pictures look: one style, one palette, one way to get Axes."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BAD",
    "BAR",
    "GAP",
    "GOOD",
    "GREY",
    "INK",
    "MEAN",
    "SHARES",
    "STRENGTHS",
    "colours_of",
    "count_on",
    "entitle",
    "house_style",
    "new_figure",
    "one_axes",
    "panel_axes",
    "some_axes",
    "width_of",
]

# The palette of Okabe and Ito, which readers with any kind of colour vision can tell apart;
# without yellow, too pale for print, and black, which is the ink.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F")
INK = "#222222"
GREY = "#8A8A8A"
BAR = "#B5D6EC"
# Of what is better and worse, as on the page of a report; the gap to what was said is worse.
GOOD = "#009E73"
BAD = "#D55E00"
GAP = BAD
MEAN = "#009E73"
# Scales that also rise or fall evenly in grey: strengths and shares.
STRENGTHS = "Blues"
SHARES = "Purples"

# Width of a letter of a title in inches.
_LETTER = 0.105
# Families that have what DejaVu Sans, which comes with matplotlib, lacks. Those that are installed
# are asked in this order.
_FURTHER_FONTS = (
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Emoji",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Nirmala UI",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
_STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "white",
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.labelsize": 9.0,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.unicode_minus": True,
    "figure.dpi": 100.0,
    "figure.facecolor": "white",
    "font.size": 9.0,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "savefig.dpi": 150.0,
    "text.color": INK,
    # Names of classes may hold dollars, which are no formulas.
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Set the style of all pictures, and put back what was there, whatever happens.

    Displays draw in it by themselves. Use it where you make the Axes that they are to draw in, so
    that these look alike, too.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from dircal.plots import PassRateDisplay, house_style
    >>> with house_style():
    ...     figure, panels = plt.subplots(1, 2, layout="constrained")
    >>> for panel, share in zip(panels, (0.6, 0.7)):
    ...     display = PassRateDisplay.from_shares({"Dirichlet": share}, 100).plot(panel)
    """
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ModuleNotFoundError(
            "Pictures need matplotlib, which is not installed. "
            "Install the extra: pip install 'dircal[plots]'",
            name="matplotlib",
        ) from error
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    families = ["DejaVu Sans", *(name for name in _FURTHER_FONTS if name in installed)]
    style: Any = {**_STYLE, "font.family": families}
    with mpl.rc_context(style):
        yield


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, in alphabetical order, so that it is the same in every picture."""
    ordered = sorted(set(names))
    return {name: _nth_colour(i) for i, name in enumerate(ordered)}


def _nth_colour(i: int) -> str:
    """The palette, then lighter and lighter tints of it."""
    colour = PALETTE[i % len(PALETTE)]
    paler = 1.0 - 0.6 ** (i // len(PALETTE))
    parts = [int(colour[j : j + 2], 16) for j in (1, 3, 5)]
    return "#" + "".join(f"{round(part + paler * (255 - part)):02X}" for part in parts)


def new_figure(width: float, height: float) -> "Figure":
    """A new figure of this size in inches, with a margin."""
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    return plt.figure(figsize=(width, height), layout=layout)


def entitle(figure: "Figure", title: str) -> None:
    """Say above the picture what it is, on as many lines as its width asks for."""
    letters = int((figure.get_figwidth() - 0.2) / _LETTER)
    figure.suptitle(fill(title, letters), x=0.02, ha="left", fontsize=11.0, weight="bold")


def count_on(axis: Any) -> None:
    """Ticks of an axis that counts: whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))


def width_of(ax: "Axes") -> float:
    """Width of Axes that have their place, in inches."""
    return float(ax.get_window_extent().width / ax.get_figure(root=True).dpi)  # type: ignore[union-attr]


def one_axes(ax: Any, width: float, height: float) -> "Axes":
    """The given Axes, or those of a new figure of this size in inches."""
    return panel_axes(ax, 1, 1, width, height)[0]


def panel_axes(ax: Any, n_rows: int, n_columns: int, width: float, height: float) -> list["Axes"]:
    """Axes of a grid of panels, row by row: of a new figure, the given ones, or in the given one.

    ``width`` and ``height`` are those of the new figure in inches.
    """
    n = n_rows * n_columns
    if ax is None:
        figure = new_figure(width, height)
        return list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())
    given = np.asarray(ax, dtype=object).ravel()
    if len(given) == n:
        return list(given)
    place = given[0].get_subplotspec() if len(given) == 1 else None
    if place is None:
        raise ValueError(
            f"`ax` must be one Axes of a grid (as `plt.subplots` makes them), or {n} Axes, one for "
            f"each panel; got {len(given)}. Pass {n} Axes, or None for a new figure."
        )
    given[0].set_axis_off()
    cells = place.subgridspec(n_rows, n_columns)
    figure = given[0].figure
    return [figure.add_subplot(cells[i, j]) for i in range(n_rows) for j in range(n_columns)]


def some_axes(ax: Any, n: int, n_columns: int, width: float, height: float) -> list["Axes"]:
    """Axes of ``n`` panels: those given, or of a grid whose last places may stay empty."""
    given = None if ax is None else np.size(np.asarray(ax, dtype=object))
    shape = (n, 1) if given == n else (-(-n // n_columns), n_columns)
    panels = panel_axes(ax, *shape, width, height)
    for spare in panels[n:]:
        spare.set_axis_off()
    return panels[:n]
