"""From a summary to the text of a page: one template, one style, one script, all in one file."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from dircal import _numerals
from dircal.metrics import RECORDS, Measure
from dircal.report import _shapes
from dircal.report._limits import REPORT_LIMITS
from dircal.report._matrices import show_change, show_map
from dircal.report._shapes import coverage_chart, dumbbells
from dircal.report._summary import Diagram, Summary

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["render"]


def render(summary: Summary) -> str:
    """The page."""
    style, script = _packed("page.css"), _packed("page.js")
    worst_first = _worst_first(summary)
    shown = _shown(summary, worst_first)
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
        others=_other_diagrams(summary),
        shown=shown,
        rest=[j for j in worst_first if j not in shown],
        change=show_change(summary),
        map=show_map(summary),
        alarm=REPORT_LIMITS.get().alarm_level,
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
        loader=jinja2.FunctionLoader(_packed),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        short=_numerals.format_number,
        percent=_numerals.format_percent,
        count=_numerals.format_count,
        pvalue=_numerals.format_pvalue,
        bars=_shapes.bars,
        mini_paths=_shapes.mini_paths,
        dumbbells=dumbbells,
        coverage_chart=coverage_chart,
    )
    return environment.get_template("page.html.jinja")


def _packed(name: str) -> str:
    return (files("dircal.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page tells the browser about its own style and script; all others are refused."""
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()


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


def _shown(summary: Summary, worst_first: Sequence[int]) -> list[int]:
    """Places of the classes to show in full: the worst, and those that are worse off."""
    worst = set(worst_first[: REPORT_LIMITS.get().max_detailed_classes])
    harmed = summary.verdict.worse_off
    return [j for j in worst_first if j in worst or summary.class_names[j] in harmed]


def _other_diagrams(summary: Summary) -> list[tuple[list[str], Diagram]]:
    """Diagrams that the verdict does not show, each once, with the methods that have it."""
    found: dict[Diagram, list[str]] = {}
    for method in summary.methods[1:]:
        if method.diagram not in (summary.before.diagram, summary.after.diagram):
            found.setdefault(method.diagram, []).append(method.name)
    return [(names, diagram) for diagram, names in found.items()]
