"""A report inside of a notebook: a page of its own within the page."""

from html import escape

from dircal.report._render import render
from dircal.report._summary import Summary

__all__ = ["inline"]

_HEIGHT = 820


def inline(summary: Summary) -> str | None:
    """The page in a frame, closed to the notebook; None without jinja2, which writes it."""
    try:
        page = render(summary)
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        return None
    # Its styles and scripts stay inside, and those of the notebook outside.
    return (
        f'<iframe class="dircal" title="{escape(summary.title)}" sandbox="allow-scripts" '
        f'srcdoc="{escape(page)}" style="width:100%;height:{_HEIGHT}px;border:1px solid #8a939b;'
        'border-radius:6px"></iframe>'
    )
