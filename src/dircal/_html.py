"""Small pieces of HTML for notebooks: cards, tables and little pictures, without any template."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["BAD", "GOOD", "card", "facts", "framed", "histogram", "map_picture", "mark", "table"]

GOOD = "#00875f"
"""Of words on what is better: the green of pages and pictures, dark enough to be read."""
BAD = "#d55e00"
"""Of what is worse."""
_BLUE = "#0072b2"
_SIDE = 120.0
_PAGE_HEIGHT = 820
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;white-space:nowrap"


def card(title: str, *parts: str, picture: str = "") -> str:
    """A heading, what stands below it, and a picture at its right; parts are HTML already."""
    return (
        '<div class="dircal" style="display:flex;flex-wrap:wrap;gap:8px 28px;align-items:start;'
        'margin:6px 0;font-size:13px;line-height:1.45">'
        '<div style="max-width:64em;min-width:0;overflow-x:auto">'
        f'<div style="font-weight:600;margin-bottom:4px">{escape(title)}</div>'
        f"{''.join(parts)}</div>{picture}</div>"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, one below the other; values are HTML already."""
    rows = ((f'<span style="opacity:0.7">{escape(name)}</span>', value) for name, value in pairs)
    return _table("", rows, [_CELL, f"{_CELL};white-space:normal"])


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column names its rows; cells are HTML already."""
    right = _CELL.replace("text-align:left", "text-align:right")
    styles = [_CELL, *[right] * (len(heads) - 1)]
    above = [f"{style};white-space:normal;opacity:0.7" for style in styles]
    head = _row("th", map(escape, heads), above)
    return _table(f"<thead>{head}</thead>", rows, styles)


def _table(head: str, rows: Iterable[Sequence[str]], styles: Sequence[str]) -> str:
    body = "".join(_row("td", row, styles) for row in rows)
    return (
        '<table style="border:0;margin:4px 0;font-size:inherit;font-variant-numeric:tabular-nums">'
        f"{head}<tbody>{body}</tbody></table>"
    )


def _row(tag: str, cells: Iterable[str], styles: Sequence[str]) -> str:
    pairs = zip(cells, styles, strict=True)
    inside = "".join(f'<{tag} style="{style}">{cell}</{tag}>' for cell, style in pairs)
    return f"<tr>{inside}</tr>"


def framed(title: str, page: str) -> str:
    """A whole page inside of a notebook, whose styles and scripts stay in it."""
    return (
        f'<iframe class="dircal" title="{escape(title)}" sandbox="allow-scripts" '
        f'srcdoc="{escape(page)}" style="width:100%;height:{_PAGE_HEIGHT}px;'
        'border:1px solid #8a939b;border-radius:6px"></iframe>'
    )


def mark(text: str, is_good: bool | None) -> str:
    """Words in the colour of what is good or bad; None is neither."""
    if is_good is None:
        return escape(text)
    return f'<b style="color:{GOOD if is_good else BAD}">{escape(text)}</b>'


def map_picture(before: Sequence[float], after: Iterable[Sequence[float]]) -> str:
    """How sure a map is after it against before: a thin line for each class, their mean thick."""
    lines = [list(line) for line in after]
    mean = [sum(values) / len(values) for values in zip(*lines, strict=True)]
    thin = "".join(
        f'<path d="{_path(before, line)}" fill="none" stroke="{_BLUE}" opacity="0.3"/>'
        for line in lines
    )
    return _picture(
        "Probability of a class after the map against before",
        f'<path d="M0 {_SIDE:g}L{_SIDE:g} 0" stroke="currentColor" stroke-dasharray="3 3" '
        f'opacity="0.6"/>{thin}<path d="{_path(before, mean)}" fill="none" stroke="{_BLUE}" '
        'stroke-width="2.2"/>',
        "said before",
        "said after",
    )


def histogram(heights: Sequence[float], place: float, words: str) -> str:
    """Bars, and a line at the ``place`` between 0 and 1 for what was observed."""
    top, width = max(*heights, 1e-300), _SIDE / len(heights)
    bars = "".join(
        f'<rect x="{i * width:.1f}" y="{_SIDE * (1 - height / top):.1f}" width="{width:.1f}" '
        f'height="{_SIDE * height / top:.1f}" fill="{_BLUE}" opacity="0.4"/>'
        for i, height in enumerate(heights)
    )
    x = _SIDE * min(max(place, 0.0), 1.0)
    line = f'<path d="M{x:.1f} 0V{_SIDE:g}" stroke="{BAD}" stroke-width="2"/>'
    return _picture(words, bars + line, "by chance, and observed", "")


def _path(x: Sequence[float], y: Sequence[float]) -> str:
    points = (f"{_SIDE * a:.1f} {_SIDE * (1 - b):.1f}" for a, b in zip(x, y, strict=True))
    return "M" + "L".join(points)


def _picture(words: str, inside: str, across: str, up: str) -> str:
    label = 'font-size="10" fill="currentColor" text-anchor="middle"'
    return (
        f'<svg role="img" aria-label="{escape(words)}" width="160" height="150" '
        'viewBox="-22 -6 150 146" style="overflow:visible">'
        f'<path d="M0 0V{_SIDE:g}H{_SIDE:g}" fill="none" stroke="currentColor" opacity="0.5"/>'
        f'{inside}<text x="{_SIDE / 2:g}" y="{_SIDE + 15:g}" {label}>{escape(across)}</text>'
        f'<text transform="translate(-8 {_SIDE / 2:g}) rotate(-90)" {label}>{escape(up)}</text>'
        "</svg>"
    )
