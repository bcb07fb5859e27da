"""What the commands of the experiments say when they cannot go on."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click
from rich.console import Console

__all__ = ["resumable"]


@contextmanager
def resumable(console: Console, *errors: type[Exception]) -> Iterator[None]:
    """Tell these errors in one line, and a person who stops the run that it can go on.

    Requests to end and a terminal that is closed stop it as Ctrl-C does, with all its workers.
    """
    try:
        with _requests_interrupt():
            yield
    except errors as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        console.print("\nStopped. The same command goes on from here.")
        raise SystemExit(130) from None


@contextmanager
def _requests_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What is ignored, as by nohup, stays so.
    named = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    heard = [n for n in named if n and signal.getsignal(n) not in (signal.SIG_IGN, None)]

    def interrupt(number: int, frame: FrameType | None) -> None:
        # The next must not disturb the end of the workers.
        for one in heard:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
