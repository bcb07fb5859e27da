"""How far the work on a report has come."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from dircal._progress import Progress
from dircal.tables import Passes

__all__ = ["Steps", "Watcher", "watched_steps"]

Watcher: TypeAlias = Callable[[str, int, int], None]
"""Is told what is being done, how many steps are done, and how many there are."""


class Steps:
    """Counts steps and tells a watcher, or moves a line on."""

    def __init__(
        self, total: int, watcher: Watcher | None, passes: Passes, line: Progress | None = None
    ) -> None:
        self._total = total
        self._done = 0
        self._what = ""
        self._watcher = watcher
        self._passes = passes
        self._line = line

    def begin(self, what: str) -> None:
        """Something else is being done from now on."""
        self._what = what
        self._tell()

    def advance(self, done: int = 1) -> None:
        """So many more steps are done."""
        self._done += done
        self._tell()
        if self._line is not None:
            self._line.advance(done)

    def _tell(self) -> None:
        step = min(self._done + 1, self._total)
        self._passes.begin(f"Step {step} of {self._total}, {self._what}")
        if self._watcher is not None:
            self._watcher(self._what, self._done, self._total)


@contextmanager
def watched_steps(total: int, watcher: Watcher | None, passes: Passes) -> Iterator[Steps]:
    """Steps that tell the ``watcher``; without one, the line on the terminal of `Progress`."""
    if watcher is not None or passes.are_shown:
        yield Steps(total, watcher, passes)
        return
    with Progress("Report", total, "steps") as line:
        yield Steps(total, None, passes, line)
