"""A line about passes over a table, for a person who is watching."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dircal._progress import Progress

__all__ = ["Passes", "watched_passes"]


class Passes:
    """Hears how many rows were read, and what for."""

    def __init__(self, line: Progress) -> None:
        self._line = line

    @property
    def tell(self) -> Callable[[int], None]:
        """Hears of more rows."""
        return self._line.advance

    def expect(self, n_rows: int) -> None:
        """A pass is over so many rows."""
        self._line.expect(n_rows)

    def begin(self, what: str) -> None:
        """Something else is done from now on."""
        self._line.rename(what)


@contextmanager
def watched_passes(what: str) -> Iterator[Passes]:
    """Passes over a table whose size is not known yet."""
    with Progress(what, 0, "rows", counts_passes=True) as line:
        yield Passes(line)
