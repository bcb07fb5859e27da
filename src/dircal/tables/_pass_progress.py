"""A progress line for passes over a table that is read in parts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dircal._progress import Progress
from dircal.tables._score_table import ScoreTable

__all__ = ["Passes", "pass_progress"]


class Passes:
    """Names the passes over a table; without a table in parts there are none."""

    def __init__(self, line: Progress | None = None) -> None:
        self._line = line

    @property
    def are_shown(self) -> bool:
        """Whether there are passes to report."""
        return self._line is not None

    def expect(self, n_rows: int) -> None:
        """Set the number of rows of a pass."""
        if self._line is not None:
            self._line.expect(n_rows)

    def begin(self, what: str) -> None:
        """Name what the next passes are for."""
        if self._line is not None:
            self._line.rename(what)


@contextmanager
def pass_progress(what: str, rows: Any) -> Iterator[tuple[Any, Passes]]:
    """Report the rows that are read if ``rows`` is a table in parts; yield it, and its passes."""
    if not isinstance(rows, ScoreTable) or rows.is_in_memory or rows.on_rows is not None:
        yield rows, Passes()
        return
    with Progress(what, 0, "rows", counts_passes=True) as line:
        yield replace(rows, on_rows=line.advance), Passes(line)
