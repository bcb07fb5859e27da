"""Where lines and dots lie in the sections about shift and costs: geometry without any markup."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dircal._numerals import format_number, format_percent
from dircal.report._savings import CoverageCurve, SavingsSummary
from dircal.report._shift import FindingSummary

__all__ = ["CoverageChart", "DrawnCurve", "Dumbbell", "coverage_chart", "dumbbells"]

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
    return CoverageChart(
        frame.width,
        frame.height,
        frame.left,
        frame.right,
        frame.top,
        frame.bottom,
        tuple(drawn(one) for one in savings.curves),
        tuple((y(one), word) for one, word in zip(levels, words, strict=True)),
        tuple((x(share), format_percent(share, 0)) for share in (0.0, 0.5, 1.0)),
        None if savings.ask is None else y(savings.ask),
    )


def _nice(reach: float) -> float:
    """A step of 1, 2 or 5 times a power of ten, of which a few make up the reach."""
    rough = (reach or 1.0) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return power * min((one for one in (1.0, 2.0, 5.0) if one * power >= rough), default=10.0)
