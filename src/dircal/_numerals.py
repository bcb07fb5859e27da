"""Numbers as text for readers: one function for each kind."""

import math

__all__ = [
    "format_count",
    "format_interval",
    "format_level",
    "format_measure",
    "format_measure_range",
    "format_number",
    "format_percent",
    "format_pvalue",
]

_MINUS = "\N{MINUS SIGN}"
_DASH = "\N{EN DASH}"
_NARROW = "\N{NARROW NO-BREAK SPACE}"


def format_number(value: float | None, *, sign: bool = False) -> str:
    """Return four decimals, or two digits of smaller numbers; a dash for a missing number."""
    if value is None or not math.isfinite(value):
        return _DASH
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 9999.5:
        text = f"{value:,.0f}"
    elif size >= 99.95:
        text = f"{value:.1f}"
    elif size >= 9.995:
        text = f"{value:.2f}"
    elif size >= 5e-4:
        text = f"{value:.4f}"
    elif size >= 1e-6:
        text = f"{value:.{1 - math.floor(math.log10(size))}f}"
    else:
        text = f"{value:.1e}"
    return _signed(text, sign and value > 0)


def format_percent(share: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """Return a share as a percentage; a dash for a missing one."""
    if share is None or not math.isfinite(share):
        return _DASH
    return _signed(f"{100 * share:.{digits}f}{_NARROW}%", sign and share > 0)


def format_count(value: float, *, sign: bool = False) -> str:
    """Return a number of rows: whole numbers as such, sums of weights with a few digits."""
    whole = round(value)
    text = f"{whole:,}" if abs(value - whole) < 1e-6 else f"{value:,.4g}"
    return _signed(text, sign and value > 0)


def format_pvalue(value: float | None, n_resamples: int | None = None, name: str = "") -> str:
    """Return a p-value, at least the smallest one that its draws can show; with its ``name``."""
    if value is None:
        return _DASH
    least = 0.0 if n_resamples is None else 1.0 / n_resamples
    is_least = value < 1.5 * least
    text = f"{least if is_least else value:.2g}"
    relation = "≤" if is_least else "=" if name else ""
    return " ".join(filter(None, (name, relation, text)))


def format_level(level: float) -> str:
    """Return a level of confidence as a percentage."""
    return f"{100 * level:g} %"


def format_interval(low: float, high: float, level: float = 0.95) -> str:
    """Return an interval after its level."""
    return f"{format_level(level)}: {low:.4g} to {high:.4g}"


def format_measure(value: float) -> str:
    """Return a value of a measure in the few characters of a column, however small."""
    return f"{value:.4f}" if abs(value) >= 0.0005 or value == 0.0 else f"{value:.0e}"


def format_measure_range(low: float | None, high: float | None) -> str:
    """Return an interval for a column; nothing for a missing one."""
    return "" if low is None or high is None else f"{format_measure(low)} to {format_measure(high)}"


def _signed(text: str, plus: bool) -> str:
    return ("+" if plus else "") + text.replace("-", _MINUS)
