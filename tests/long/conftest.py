"""Collects the numbers of the long tests into one committed table."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLE = HERE / "table.md"
HEAD = [
    "# Statistical guarantees",
    "",
    "Written by `make test-long`; seeds are fixed, so the numbers repeat. A file that is run alone",
    "renews its own part.",
]


@pytest.fixture(scope="module")
def record(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Adds a row (claim, seen, allowed) to the part of a file, and writes the table at once."""
    rows: list[tuple[str, str, str]] = []

    def add(claim: str, seen: str, allowed: str) -> None:
        rows.append((claim, seen, allowed))
        write(request.path.stem, rows)

    return add


def write(name: str, rows: list[tuple[str, str, str]]) -> None:
    """Renew one part of the table; parts of files that are gone go, too."""
    parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TABLE.read_text(), re.M | re.S))
    table = ["| claim | seen | allowed |", "| --- | --- | --- |"]
    table += [f"| {claim} | {seen} | {allowed} |" for claim, seen, allowed in rows]
    parts[name] = "\n".join(["", *table, ""])
    known = [path.stem for path in sorted(HERE.glob("test_*.py")) if path.stem in parts]
    lines = [*HEAD, *(f"\n## {one}\n{parts[one].rstrip()}" for one in known)]
    TABLE.write_text("\n".join(lines) + "\n")
