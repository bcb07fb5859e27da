"""An explanation for a notebook."""

from html import escape
from typing import TYPE_CHECKING

from dircal._html import card, table
from dircal.maps._sentences import short_label

if TYPE_CHECKING:
    from dircal.maps._explanation import Explanation

__all__ = ["html_of"]

_SHOWN = 5
_NAME = 24


def html_of(explanation: "Explanation") -> str:
    """Its sentences, and the largest effects as tables."""
    said = "".join(f"<li>{escape(one)}</li>" for one in explanation.sentences())
    parts = [f'<ul style="margin:0 0 6px;padding-left:18px">{said}</ul>']
    if explanation.classes:
        rows = (
            [
                escape(short_label(one.label, _NAME)),
                f"{one.shift:+.2f}",
                f"{one.before:.3f}",
                f"{one.after:.3f}",
                "" if one.observed is None else f"{one.observed:.3f}",
            ]
            for one in explanation.classes[:_SHOWN]
        )
        parts.append(table(["class", "shift", "before", "after", "observed"], rows))
    if explanation.pairs:
        rows = (
            [
                escape(f"{short_label(one.leader, _NAME)}, {short_label(one.second, _NAME)}"),
                f"{one.shift:+.2f}",
                f"{one.share:.1%}",
                f"{one.flipped:.1%}",
            ]
            for one in explanation.pairs[:_SHOWN]
        )
        parts.append(table(["leads, then second", "shift", "rows", "flipped"], rows))
    return card(explanation.heading, *parts)
