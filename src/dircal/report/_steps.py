"""How far the work on a report has come."""

from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias

from dircal._progress import Progress

__all__ = ["Steps", "Watcher"]

Watcher: TypeAlias = Callable[[str, int, int], None]
"""Is told what is being done, how many steps are done, and how many there are."""


class Steps:
    """Counts steps and tells a watcher; without one, the line on the terminal of `Progress`."""

    def __init__(self, total: int, watcher: Watcher | None) -> None:
        self._total = total
        self._done = 0
        self._what = ""
        self._watcher = watcher
        self._line = None if watcher is not None else Progress("Report", total, "steps")

    def __enter__(self) -> Self:
        if self._line is not None:
            self._line.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._line is not None:
            self._line.__exit__(kind, error, traceback)

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
        if self._watcher is not None:
            self._watcher(self._what, self._done, self._total)
