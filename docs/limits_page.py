"""The page of limits, from the dataclasses and their comments: ``python docs/limits_page.py``."""

import inspect
import pkgutil
import re
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

from numpydoc.docscrape import ClassDoc

import dircal

PAGE = Path(__file__).with_name("limits.md")
HEAD = """# Limits

The numbers that steer code are fields of frozen dataclasses, one for each solver or subpackage.
This page is written from them by `python docs/limits_page.py`. Where a field has no remark on
sensitivity, the sentence above its table holds.

Code reads the limits that apply in its context. A test replaces some of them for a while:

```python
from dataclasses import replace
from dircal._core.stats.limits import RESAMPLING_LIMITS

token = RESAMPLING_LIMITS.set(replace(RESAMPLING_LIMITS.get(), min_moment_rows=1_000))
RESAMPLING_LIMITS.reset(token)
```

The limits of tables are an attribute of each table:
`replace(table, limits=TableLimits(memory_bytes=0))`.
"""


def rows_of(cls: type) -> list[tuple[str, str, str]]:
    """Name, value and remark of each field."""
    described = {
        name: " ".join(one.desc)
        for one in ClassDoc(cls)["Parameters"]
        for name in one.name.split(", ")
    }
    rows, comment = [], []
    for line in inspect.getsource(cls).splitlines():
        if note := re.fullmatch(r"    # (.*)", line):
            comment.append(note[1])
        elif field := re.fullmatch(r"    (\w+): [^=]+ = (.*)", line):
            name, value = field.groups()
            rows.append((name, value, " ".join(comment) or described[name]))
            comment = []
    return rows


def write_page() -> str:
    """Text of the page."""
    parts = [HEAD]
    modules = pkgutil.walk_packages(dircal.__path__, "dircal.")
    for name in sorted(one.name for one in modules if re.search(r"\._?limits$", one.name)):
        module = import_module(name)
        for cls in (getattr(module, one) for one in module.__all__):
            if is_dataclass(cls) and inspect.isclass(cls):
                summary, *about = inspect.getdoc(cls).split("\n\n")
                sensitivity = (
                    ""
                    if "Parameters\n" in about[0]
                    else " " + about[0].replace("\n", " ").replace("``", "`")
                )
                lines = [f"| `{row[0]}` | `{row[1]}` | {row[2]} |" for row in rows_of(cls)]
                head = [f"## {cls.__name__}\n", f"`{name}`: {summary}{sensitivity}\n"]
                table = [
                    "| field | value | source and sensitivity |",
                    "| --- | --- | --- |",
                    *lines,
                ]
                parts.append("\n".join([*head, *table]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
