"""Doing many jobs at once, and saying how long they will still take."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import joblib
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

__all__ = ["Clock", "run_all"]


class Clock:
    """Counts expected seconds that are done, and turns the rest into time left.

    On a terminal there is a bar; elsewhere a line where something larger ends.
    """

    def __init__(self, console: Console, expected: float) -> None:
        self._console = console
        self._jobs = joblib.effective_n_jobs(joblib.Parallel().n_jobs)
        self._expected = max(expected, 1e-9)
        self._done = 0.0
        self._began = time.monotonic()
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task("", total=self._expected, left=f"{self.left()} left")

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def start(self, what: str) -> None:
        """Say what is being done now."""
        self._bar.update(self._task, description=what)

    def advance(self, expected: float) -> None:
        """So many of the expected seconds are done."""
        self._done += expected
        self._bar.update(self._task, completed=self._done, left=f"{self.left()} left")

    def left(self) -> str:
        """Time left, in words."""
        # At first the jobs share the work evenly; what is seen soon outweighs that.
        weight = min(60.0, self._expected / 20)
        elapsed = time.monotonic() - self._began + weight / self._jobs
        seconds = max(self._expected - self._done, 0.0) * elapsed / (self._done + weight)
        if seconds < 90.0:
            return f"{seconds:.0f} s"
        return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        self._console.print(line, highlight=False)


def run_all(function: Callable[..., None], calls: Sequence[tuple[Any, ...]]) -> Iterator[None]:
    """Run the calls in whatever joblib backend is set, and give a sign after each.

    Results travel through files only, so that workers may be anywhere that sees them.
    """
    jobs = (joblib.delayed(function)(*call) for call in calls)
    try:
        parallel = joblib.Parallel(return_as="generator_unordered")
    except ValueError:
        # Some backends hand over everything at the end.
        parallel = joblib.Parallel()
    yield from parallel(jobs)
