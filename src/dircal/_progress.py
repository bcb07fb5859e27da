"""A line that shows how far long work has come, for a person who is watching."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

from dircal._core.optim.newton import WATCHER

__all__ = ["Progress", "watch_steps"]

# Work that ends sooner shows nothing, and the line changes no more often than this.
_PATIENCE = 2.0
_EVERY = 0.2


class Progress:
    """Counts what is done; on a terminal it says so, with the rate and the time left.

    Use it as a context and call `advance`. It writes to the standard error of a terminal after
    two seconds, and nothing anywhere else. ``about`` stands before a total that is not known, and
    grows where more is done. Work that ``counts_passes`` goes over the total again and again,
    nobody knows how often.
    """

    def __init__(
        self, what: str, total: int, unit: str, *, about: str = "", counts_passes: bool = False
    ) -> None:
        self._what = what
        self._about = about
        self._counts_passes = counts_passes
        self._total = total
        self._unit = unit
        self._done = 0
        self._start = time.monotonic()
        self._shown = self._start + _PATIENCE - _EVERY
        self._stream: TextIO | None = sys.stderr if _is_terminal(sys.stderr) else None
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._stream is not None and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def advance(self, done: int) -> None:
        """So many more are done."""
        self._done += done
        now = time.monotonic()
        if self._stream is None or now - self._shown < _EVERY:
            return
        self._shown = now
        if self._about:
            self._total = max(self._total, self._done + 1)
        rate = self._done / (now - self._start)
        line = f"{self._what}: {self._how_far(rate)}"
        # A line that is folded could not be written over.
        line = line[: shutil.get_terminal_size().columns - 1]
        self._width = max(self._width, len(line))
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()

    def expect(self, total: int) -> None:
        """There are so many, as is known by now."""
        self._total = total

    def rename(self, what: str) -> None:
        """Something else is done from now on, of the same number."""
        self._what = what

    def _how_far(self, rate: float) -> str:
        if self._counts_passes and not self._total:
            return f"{self._done:,} {self._unit}, {_speed(rate)}"
        if self._counts_passes:
            passes = self._done // max(self._total, 1)
            return f"pass {passes + 1} over {self._total:,} {self._unit}, {_speed(rate)}"
        left = (self._total - self._done) / rate if rate > 0 else float("inf")
        return (
            f"{self._done:,} of {self._about}{self._total:,} {self._unit} "
            f"({self._done / self._total:.0%}), {_speed(rate)}, {self._about}{_duration(left)} left"
        )


@contextmanager
def watch_steps(usual: int) -> Iterator[None]:
    """Show how far a fit is, by Newton steps, of which there are ``usual`` ones or so."""
    if usual == 0 or WATCHER.get() is not None:
        # One that counts something else, or a fit within another, which counts all steps.
        yield
        return
    with Progress("Fitting", usual, "steps", about="about ") as progress:
        token = WATCHER.set(progress.advance)
        try:
            yield
        finally:
            WATCHER.reset(token)


def _speed(rate: float) -> str:
    return f"{rate:,.0f} a second" if rate >= 1 or rate <= 0 else f"{1 / rate:,.0f} s each"


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
