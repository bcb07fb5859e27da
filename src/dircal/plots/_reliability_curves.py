"""Reliability curves: computed from predictions, drawn as bars."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from dircal._core.stats.bands import consistency_band
from dircal._core.stats.chances import BinChance
from dircal._typing import FloatArray
from dircal.metrics import (
    AbstractRows,
    BinRule,
    BinTable,
    ClassCurves,
    ConfidenceCurve,
    Confident,
    Predictions,
)
from dircal.plots._base import Frame, make_frame
from dircal.plots._names import check_chosen
from dircal.plots._style import BAR, GAP, GREY, INK
from dircal.tables import check_number, check_option

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "GAP_WIDTH",
    "BarShapes",
    "Counts",
    "Curve",
    "check_level",
    "classes_to_show",
    "confidence_curve",
    "curves_frame",
    "curves_of_classes",
    "draw_curve",
    "draw_panels",
    "legend_below",
]

Counts: TypeAlias = Literal["below", "none"]

# Bins without width, as that of the paper's tables which holds only 1, are drawn this wide.
_NARROWEST = 0.015
GAP_WIDTH = 0.3
# Height of the strip of counts and of the space above it, in units of the frequency.
_STRIP = 0.2
_SPACE = 0.06
# Opacity of a bar that holds next to none of the rows.
_PALEST = 0.25
# Half the width of a bracket, in widths of its bar.
_BRACKET_HALF = 0.38
# The part of the strip of counts that the fewest rows fill, so that they are still seen.
_ONE_ROW = 0.15


@dataclass(frozen=True, eq=False)
class Curve:
    """One reliability diagram: m bins with their ends (m + 1,), and what is in them (m,).

    ``low`` and ``high`` are the ends of the consistency band. Empty bins hold NaN.
    """

    name: str
    edges: FloatArray
    count: FloatArray
    mean_predicted: FloatArray
    frequency: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap of the rows."""
        gaps = np.abs(self.frequency - self.mean_predicted)
        used = self.count > 0
        return float((gaps[used] * self.count[used]).sum() / self.count.sum())


def check_level(level: float | None) -> None:
    """Refuse what is no probability of a band."""
    if level is not None:
        check_number("level", level, above=0.0, below=1.0)


def confidence_curve(
    rows: AbstractRows[Confident], rule: BinRule, level: float | None, name: str
) -> Curve:
    """The curve of the largest probabilities; there is no band with weights or soft labels."""
    table = rows.table(ConfidenceCurve(), rule)
    if level is None or rows.is_weighted or rows.has_soft_labels:
        return _read_table(table, 0, name)
    [chances] = rows.chances(ConfidenceCurve(), rule)
    return _read_table(table, 0, name, chances, level)


def classes_to_show(
    predictions: Predictions, rule: BinRule, labels: Iterable[Any] | None, most: int
) -> list[int]:
    """Positions of the classes that a user chose; otherwise of all, or of so many of the worst."""
    if labels is not None:
        return check_chosen("labels", labels, predictions.classes)
    if predictions.n_classes <= most:
        return list(range(predictions.n_classes))
    errors = predictions.table(ClassCurves(), rule).calibration_errors
    worst: list[int] = np.argsort(-errors, kind="stable")[:most].tolist()
    return worst


def curves_of_classes(
    predictions: Predictions,
    rule: BinRule,
    chosen: list[int],
    names: Iterable[str],
    level: float | None,
) -> list[Curve]:
    """Curves of the classes at the positions ``chosen``, with bands of these only."""
    table = predictions.table(ClassCurves(), rule)
    pairs = list(zip(chosen, names, strict=True))
    if level is None or predictions.is_weighted or predictions.has_soft_labels:
        return [_read_table(table, j, name) for j, name in pairs]
    several = predictions.chances(ClassCurves(tuple(chosen)), rule)
    return [
        _read_table(table, j, name, chances, level)
        for (j, name), chances in zip(pairs, several, strict=True)
    ]


def _read_table(
    table: BinTable,
    j: int,
    name: str,
    chances: Sequence[BinChance] = (),
    level: float = 0.5,
) -> Curve:
    """One curve of a table; without chances there is no band."""
    edges = table.edges[j if len(table.edges) > 1 else 0]
    rows = (table.count[j], table.mean_predicted[j], table.frequency[j])
    return Curve(name, edges, *rows, *consistency_band(chances, table.bins.n_bins, level))


def curves_frame(curves: Iterable[Curve], **also: list[str]) -> Frame:
    """A row for each bin that holds rows; ``also`` are further names, one for each curve."""
    parts = []
    for i, curve in enumerate(curves):
        used = np.flatnonzero(curve.count > 0)
        texts = {key: names[i] for key, names in also.items()} | {"curve": curve.name}
        numbers = make_frame(
            bin=used,
            lower=curve.edges[:-1][used],
            upper=curve.edges[1:][used],
            count=curve.count[used],
            mean_predicted=curve.mean_predicted[used],
            frequency=curve.frequency[used],
            gap=(curve.frequency - curve.mean_predicted)[used],
            low=curve.low[used],
            high=curve.high[used],
        )
        parts.append({key: [text] * len(used) for key, text in texts.items()} | numbers)
    return {key: [value for part in parts for value in part[key]] for key in parts[0]}


@dataclass(frozen=True, eq=False)
class BarShapes:
    """Places of the bars of m bins (m,), in units of the probability; each medium scales them.

    A gap of width ``gap`` and a bracket that reaches ``half`` to both sides are centred on the
    ``middle``. ``strength`` is the opacity, which is low for few rows, and ``count`` the part of
    the strip of counts that is filled, on a logarithmic scale.
    """

    left: FloatArray
    width: FloatArray
    middle: FloatArray
    gap: FloatArray
    half: FloatArray
    strength: FloatArray
    count: FloatArray

    @classmethod
    def of(
        cls, lower: FloatArray, upper: FloatArray, count: FloatArray, gap_width: float = GAP_WIDTH
    ) -> Self:
        """Compute the shapes of bins that hold rows."""
        width = np.maximum(upper - lower, _NARROWEST)
        strength = _PALEST + (1.0 - _PALEST) * np.sqrt(count / count.max())
        least = min(1.0, count.min())
        filled = np.log(count / least) / np.log(max(count.max(), 2.0 * least) / least)
        return cls(
            upper - width,
            width,
            upper - width / 2,
            gap_width * width,
            _BRACKET_HALF * width,
            strength,
            _ONE_ROW + (1.0 - _ONE_ROW) * filled,
        )


def draw_curve(
    ax: "Axes", curve: Curve, counts: Counts, gap_width: float = GAP_WIDTH
) -> dict[str, Any]:
    """Bars, gap bars, the band and the diagonal; counts below. Gives the artists by name."""
    check_option("counts", counts, ("below", "none"))
    check_number("gap_width", gap_width, above=0.0, below=1.0)
    used = curve.count > 0
    shapes = BarShapes.of(
        curve.edges[:-1][used], curve.edges[1:][used], curve.count[used], gap_width
    )
    height, said = curve.frequency[used], curve.mean_predicted[used]
    artists: dict[str, Any] = {}
    artists["bars_"] = ax.bar(
        shapes.left,
        height,
        shapes.width,
        align="edge",
        color=BAR,
        edgecolor=INK,
        linewidth=0.6,
        label="observed",
    )
    artists["gaps_"] = ax.bar(
        shapes.middle,
        said - height,
        shapes.gap,
        height,
        color=GAP,
        alpha=0.9,
        edgecolor=GAP,
        linewidth=0.6,
        label="gap",
        zorder=2.5,
    )
    for opacity, bar, gap in zip(
        shapes.strength.round(2), artists["bars_"], artists["gaps_"], strict=True
    ):
        bar.set_alpha(opacity)
        gap.set_alpha(opacity)
    artists["band_"] = _draw_band(ax, curve, shapes)
    (artists["diagonal_"],) = ax.plot([0, 1], [0, 1], "--", color=INK, linewidth=0.9, zorder=2.2)
    artists["counts_"] = None
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    if counts == "below":
        artists["counts_"] = _draw_counts(ax, shapes, curve.count.max())
    return artists


def draw_panels(
    panels: "Sequence[Axes]",
    curves: Sequence[Curve],
    titles: Sequence[str],
    n_columns: int,
    counts: Counts,
    gap_width: float,
) -> dict[str, list[Any]]:
    """A curve in each panel, row by row. Gives the artists of all panels by name."""
    drawings = []
    for i, (panel, curve, title) in enumerate(zip(panels, curves, titles, strict=True)):
        drawings.append(draw_curve(panel, curve, counts, gap_width))
        panel.set_title(f"{title}\nECE {curve.error:.4f}".strip(), fontsize=9)
        if i + n_columns >= len(curves):
            panel.set_xlabel("predicted")
        if i % n_columns == 0:
            panel.set_ylabel("observed")
    return {key: [artists[key] for artists in drawings] for key in drawings[0]}


def _draw_band(ax: "Axes", curve: Curve, shapes: BarShapes) -> Any:
    """Brackets from the lower to the upper end of the band, one for each bin."""
    used = curve.count > 0
    low, high = curve.low[used], curve.high[used]
    if not np.isfinite(low).any():
        return None
    middle = shapes.middle
    left, right = middle - shapes.half, middle + shapes.half
    ends = [(left, low, right, low), (left, high, right, high), (middle, low, middle, high)]
    lines = [np.stack(four, axis=1).reshape(-1, 2, 2) for four in ends]
    from matplotlib.collections import LineCollection

    # Stems are thin, so that those of nearly empty bins do not hide the bars.
    widths = np.repeat([0.9, 0.9, 0.4], len(low))
    band = LineCollection(
        list(np.concatenate(lines)),
        colors=INK,
        linewidths=widths.tolist(),
        zorder=3,
        label="consistency band",
    )
    ax.add_collection(band)
    return band


def _draw_counts(ax: "Axes", shapes: BarShapes, most: float) -> Any:
    """A strip under the bars with the rows of each bin, on a logarithmic scale.

    It lies in the same Axes, so that it keeps its place in every layout.
    """
    floor = -_STRIP - _SPACE
    bars = ax.bar(
        shapes.left,
        _STRIP * shapes.count,
        shapes.width,
        floor,
        align="edge",
        color="#C9C9C9",
        edgecolor=GREY,
        linewidth=0.5,
    )
    ax.axhline(0.0, color=INK, linewidth=0.7)
    ax.axhspan(-_SPACE, 0.0, color="white", linewidth=0)
    ax.set_ylim(floor, 1)
    ax.text(
        -0.03,
        floor,
        f"rows\n≤{_compact(most)}",
        ha="right",
        va="bottom",
        fontsize=7.5,
        linespacing=1.0,
    )
    return bars


def _compact(count: float) -> str:
    """A number of rows in few characters: 960, 1.2k, 35k, 1.4M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= 0.9995 * size:
            return (
                f"{count / size:.2g}{unit}" if count < 99.5 * size else f"{count / size:.0f}{unit}"
            )
    return f"{count:.3g}"


def legend_below(ax: "Axes", artists: dict[str, Any]) -> None:
    """A legend under the picture, outside of every panel; its keys are not pale."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Any] = [
        Patch(facecolor=BAR, edgecolor=INK, linewidth=0.6, label=artists["bars_"].get_label()),
        Patch(color=GAP, label=artists["gaps_"].get_label()),
    ]
    if artists["band_"] is not None:
        keys.append(Line2D([], [], color=INK, linewidth=0.9, label=artists["band_"].get_label()))
    ax.figure.legend(
        handles=keys,
        loc="outside lower center",
        ncols=len(keys),
        columnspacing=1.2,
        handlelength=1.6,
        handletextpad=0.6,
    )
