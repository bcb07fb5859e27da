"""Places of bars, brackets, lines and dots on the page: geometry without any markup."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dircal._numerals import format_count, format_number, format_percent
from dircal.plots import BarShapes
from dircal.report._savings import CoverageCurve, SavingsSummary
from dircal.report._shift import FindingSummary
from dircal.report._summary import Bin, Diagram

__all__ = [
    "FRAME",
    "Bar",
    "CoverageChart",
    "Dumbbell",
    "Frame",
    "bars",
    "coverage_chart",
    "dumbbells",
    "level_of",
    "mini_paths",
]

LEVELS = 8
"""Steps of colour in a heat map."""
_MINI = 30.0


@dataclass(frozen=True)
class Frame:
    """Places of a diagram in its own units: the square of the bars, the strip of counts below."""

    left: float = 44.0
    top: float = 8.0
    side: float = 240.0
    strip_top: float = 255.0
    strip: float = 30.0
    width: float = 298.0
    height: float = 322.0

    def x(self, share: float) -> float:
        """Of a probability."""
        return round(self.left + self.side * share, 1)

    def y(self, share: float) -> float:
        """Of a frequency."""
        return round(self.top + self.side * (1.0 - share), 1)


FRAME = Frame()


@dataclass(frozen=True)
class Bar:
    """A bin as it is drawn: the bar, the gap in it, the bracket, the count, and the words.

    ``strength`` is how opaque it is.
    """

    x: float
    width: float
    y: float
    height: float
    gap_x: float
    gap_width: float
    gap_y: float
    gap_height: float
    caps: str | None
    stem: str | None
    strength: float
    count_y: float
    count_height: float
    words: str


def bars(diagram: Diagram) -> list[Bar]:
    """The bars of a diagram in `FRAME`."""
    shapes = _shapes_of(diagram, FRAME.side)
    return [_bar(one, *shape) for one, shape in zip(diagram.bins, shapes, strict=True)]


def _shapes_of(diagram: Diagram, side: float) -> list[list[float]]:
    """Left, width, middle, gap and half a bracket of each bin; its strength, and its count."""
    if not diagram.bins:
        return []
    lower, upper, count = np.array([(one.lower, one.upper, one.count) for one in diagram.bins]).T
    shapes = BarShapes.of(lower, upper, count)
    lengths = (shapes.left, shapes.width, shapes.middle, shapes.gap, shapes.half)
    columns = [*(side * length for length in lengths), shapes.strength, shapes.count]
    rows: list[list[float]] = np.column_stack(columns).tolist()
    return rows


def _bar(
    one: Bin,
    left: float,
    width: float,
    middle: float,
    gap: float,
    half: float,
    strength: float,
    filled: float,
) -> Bar:
    frame = FRAME
    middle += frame.left
    y, said = frame.y(one.observed), frame.y(one.predicted)
    caps, stem = _bracket(one, middle, half)
    return Bar(
        x=round(frame.left + left, 1),
        width=round(width, 1),
        y=y,
        height=round(frame.y(0.0) - y, 1),
        gap_x=round(middle - gap / 2.0, 1),
        gap_width=round(gap, 1),
        gap_y=min(y, said),
        gap_height=round(abs(said - y), 1),
        caps=caps,
        stem=stem,
        strength=round(strength, 2),
        count_y=round(frame.strip_top + frame.strip * (1.0 - filled), 1),
        count_height=round(frame.strip * filled, 1),
        words=_words(one),
    )


def _bracket(one: Bin, middle: float, half: float) -> tuple[str, str] | tuple[None, None]:
    """The caps and the stem of the range by chance; the stem is drawn thin, not to hide the gap."""
    if one.low is None or one.high is None:
        return None, None
    low, high = FRAME.y(one.low), FRAME.y(one.high)
    left, right, middle = _tenths(middle - half, middle + half, middle)
    caps = f"M{left:g} {low:g}H{right:g}M{left:g} {high:g}H{right:g}"
    return caps, f"M{middle:g} {low:g}V{high:g}"


def _words(one: Bin) -> str:
    rows = "row" if one.count == 1 else "rows"
    by_chance = ""
    if one.low is not None and one.high is not None:
        by_chance = f"; by chance {one.low:.3f} to {one.high:.3f}"
    return (
        f"{one.lower:.2f} to {one.upper:.2f}, {format_count(one.count)} {rows}: "
        f"said {one.predicted:.3f}, observed {one.observed:.3f}{by_chance}"
    )


def mini_paths(diagram: Diagram) -> tuple[str, str]:
    """Bars and gaps of a diagram as two paths in a small square."""
    solid, gaps = [], []
    for one, (x, width, *_) in zip(diagram.bins, _shapes_of(diagram, _MINI), strict=True):
        y, said = (_MINI * (1.0 - share) for share in (one.observed, one.predicted))
        solid.append(_box(x, y, width, _MINI - y))
        gaps.append(_box(x, min(y, said), width, abs(said - y)))
    return "".join(solid), "".join(gaps)


def _box(x: float, y: float, width: float, height: float) -> str:
    x, y, width, height = _tenths(x, y, width, height)
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z" if height > 0 else ""


def level_of(value: float, largest: float) -> int:
    """Step of colour of a value, from 0 to `LEVELS`, with the sign of the value."""
    if largest <= 0:
        return 0
    step = min(round(LEVELS * abs(value) / largest), LEVELS)
    return step if value > 0 else -step


def _tenths(*values: float) -> tuple[float, ...]:
    return tuple(round(value, 1) for value in values)


_WIDTH, _MARGIN = 160.0, 6.0
_TICKS = 4


@dataclass(frozen=True)
class Dumbbell:
    """A finding as it is drawn: places of before, now and zero along a line, and the finding."""

    old: float
    new: float
    zero: float
    finding: FindingSummary


def dumbbells(findings: Sequence[FindingSummary]) -> list[Dumbbell]:
    """Findings on a common scale, which holds zero."""
    ends = [0.0, *(value for one in findings for value in (one.old, one.new))]
    low, high = min(ends), max(ends)
    scale = (_WIDTH - 2.0 * _MARGIN) / ((high - low) or 1.0)

    def x(value: float) -> float:
        return round(_MARGIN + scale * (value - low), 1)

    return [Dumbbell(x(one.old), x(one.new), x(0.0), one) for one in findings]


@dataclass(frozen=True)
class DrawnCurve:
    """The path of a curve, and the dot where its probabilities would stop."""

    name: str
    path: str
    stop: tuple[float, float] | None


@dataclass(frozen=True)
class CoverageChart:
    """Curves in a frame of their own units; ``ticks`` are places on the left with their text."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    curves: tuple[DrawnCurve, ...]
    ticks: tuple[tuple[float, str], ...]
    shares: tuple[tuple[float, str], ...]
    ask: float | None


def coverage_chart(savings: SavingsSummary) -> CoverageChart:
    """Costs, or errors, by the share of rows that the model decides."""
    frame = CoverageChart(420.0, 268.0, 62.0, 408.0, 10.0, 216.0, (), (), (), None)
    values = [value for one in savings.curves for _, value in one.points]
    values += [one.stop[1] for one in savings.curves if one.stop is not None]
    values += [0.0] if savings.ask is None else [0.0, savings.ask]
    step = _nice(max(values) - min(values))
    low = step * math.floor(min(values) / step)
    high = max(step * math.ceil(max(values) / step), low + step)

    def x(share: float) -> float:
        return round(frame.left + (frame.right - frame.left) * share, 1)

    def y(value: float) -> float:
        return round(frame.bottom - (frame.bottom - frame.top) * (value - low) / (high - low), 1)

    def drawn(one: CoverageCurve) -> DrawnCurve:
        path = "M" + "L".join(f"{x(share)} {y(value)}" for share, value in one.points)
        stop = None if one.stop is None else (x(one.stop[0]), y(one.stop[1]))
        return DrawnCurve(one.name, path, stop)

    levels = [low + i * step for i in range(round((high - low) / step) + 1)]
    words = [format_percent(one, 0 if step >= 0.01 else 1) for one in levels]
    if savings.ask is not None:
        words = [format_number(round(one, 10)).rstrip("0").rstrip(".") or "0" for one in levels]
    return replace(
        frame,
        curves=tuple(drawn(one) for one in savings.curves),
        ticks=tuple((y(one), word) for one, word in zip(levels, words, strict=True)),
        shares=tuple((x(share), format_percent(share, 0)) for share in (0.0, 0.5, 1.0)),
        ask=None if savings.ask is None else y(savings.ask),
    )


def _nice(reach: float) -> float:
    """A step of 1, 2 or 5 times a power of ten, of which a few make up the reach."""
    rough = (reach or 1.0) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return power * min((one for one in (1.0, 2.0, 5.0) if one * power >= rough), default=10.0)
