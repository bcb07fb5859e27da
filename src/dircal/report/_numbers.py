"""Numbers as people read them."""

import math

__all__ = ["count", "percent", "points_of", "pvalue", "short"]

_MINUS = "\N{MINUS SIGN}"
_DASH = "\N{EN DASH}"
_NARROW = "\N{NARROW NO-BREAK SPACE}"


def short(value: float | None, *, sign: bool = False) -> str:
    """Four decimals, or two digits of what is smaller; a dash for nothing."""
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
    if sign and value > 0:
        text = "+" + text
    return text.replace("-", _MINUS)


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage."""
    if share is None or not math.isfinite(share):
        return _DASH
    return f"{100 * share:.{digits}f}{_NARROW}%".replace("-", _MINUS)


def points_of(share: float, signed: bool) -> str:
    """A percentage, with its sign where it is a difference."""
    text = percent(share)
    return f"+{text}" if signed and share > 0.0 else text


def count(value: float) -> str:
    """Rows: whole numbers as such, sums of weights with a few digits."""
    whole = round(value)
    text = f"{whole:,}" if abs(value - whole) < 1e-6 else f"{value:,.4g}"
    return text.replace("-", _MINUS)


def pvalue(value: float | None, n_resamples: int, name: str = "") -> str:
    """A p-value; at the least that the draws can tell, "at most" so much."""
    if value is None:
        return _DASH
    least = 1.0 / n_resamples
    at_floor = value < 1.5 * least
    text = f"{least:.2g}" if at_floor else f"{value:.3f}" if value >= 0.0095 else f"{value:.2g}"
    if not name:
        return f"≤{_NARROW}{text}" if at_floor else text
    return f"{name} {'≤' if at_floor else '='} {text}"
