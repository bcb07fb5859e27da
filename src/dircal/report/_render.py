"""From a summary to the text of a page: one template, one style, one script, all in one file."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dircal.metrics import RECORDS, Measure
from dircal.report import _numbers, _shapes
from dircal.report._matrices import show_change, show_map
from dircal.report._summary import Numbers, Summary
from dircal.report._verdict import ALARM

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["render"]


def render(summary: Summary) -> str:
    """The page."""
    style, script = _packed("page.css"), _packed("page.js")
    records = [RECORDS[one.measure] for one in summary.before.measures]
    return _template().render(
        summary=summary,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        frame=_shapes.FRAME,
        measures={one.name: (one.title, one.judges) for one in records},
        higher_is_better=[one.name for one in records if one.higher_is_better],
        best=_best(summary, records),
        worst_first=_worst_first(summary),
        change=show_change(summary),
        map=show_map(summary),
        rounded=_rounded,
        alarm=ALARM,
    )


@cache
def _template() -> "Template":
    try:
        import jinja2
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        raise ModuleNotFoundError(
            "Writing a report as HTML needs jinja2, which is not installed. "
            "Install the extra: pip install 'dircal[report]'",
            name="jinja2",
        ) from None
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        short=_numbers.short,
        percent=_numbers.percent,
        count=_numbers.count,
        pvalue=_numbers.pvalue,
        bars=_shapes.bars,
        mini_paths=_shapes.mini_paths,
        as_json=_as_json,
    )
    return environment.from_string(_packed("page.html.jinja"))


def _packed(name: str) -> str:
    return (files("dircal.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page tells the browser about its own style and script; all others are refused."""
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


def _as_json(value: Any) -> str:
    """Data inside of a script element, where a less-than sign could end it."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def _rounded(values: Numbers) -> list[list[float]]:
    """To three digits, which is what a reader of one cell wants."""
    return [[float(f"{value:.3g}") for value in row] for row in values]


def _best(summary: Summary, records: Sequence[Measure]) -> dict[str, float]:
    """The best value of each measure."""
    best = {}
    for one in records:
        values = [method.measure(one.name).value for method in summary.methods]
        best[one.name] = max(values) if one.higher_is_better else min(values)
    return best


def _worst_first(summary: Summary) -> list[int]:
    """Places of the classes, the largest error before calibration first."""
    errors = [one.error_before for one in summary.classes]
    return sorted(range(len(errors)), key=lambda j: (-errors[j], j))
