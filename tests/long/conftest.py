"""Collects the numbers of the long tests into one committed table."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TABLE = Path(__file__).parent / "table.md"


@pytest.fixture(scope="session")
def record() -> Iterator[Callable[[str, str, str], None]]:
    """Adds a row (claim, seen, allowed); the table is written when all tests have run."""
    rows: list[tuple[str, str, str]] = []
    yield lambda claim, seen, allowed: rows.append((claim, seen, allowed))
    lines = [
        "# Statistical guarantees",
        "",
        "Written by `make test-long`; seeds are fixed, so the numbers repeat.",
        "",
        "| claim | seen | allowed |",
        "| --- | --- | --- |",
        *(f"| {claim} | {seen} | {allowed} |" for claim, seen, allowed in rows),
    ]
    TABLE.write_text("\n".join(lines) + "\n")
