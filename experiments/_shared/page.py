"""Tables as Markdown, and a page from a template."""

from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

__all__ = ["markdown", "render"]


def render(template: Path, contents: dict[str, Any]) -> bytes:
    """Fill a template; a name that it does not know is an error."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(template.name).render(contents).encode()


def markdown(table: pd.DataFrame) -> str:
    """A table in Markdown."""
    lines = [list(map(str, table.columns)), ["---"] * len(table.columns)]
    lines += [list(map(str, line)) for line in table.itertuples(index=False, name=None)]
    return "\n".join(f"| {' | '.join(_escape(cell) for cell in line)} |" for line in lines)


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("~", "\\~")
