"""The one place where what goes wrong becomes a line on stderr and an exit code."""

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

__all__ = ["BAD_INPUT", "DEBUG", "GATE_FAILED", "told"]

GATE_FAILED = 1
BAD_INPUT = 2
# What shells say of a program whose reader went away.
_BROKEN_PIPE = 141
DEBUG = "dircal.debug"
"""Key of `click.Context.meta`: whether tracebacks are wanted."""
_STOPPED = "Stopped; nothing was written."


@contextmanager
def told(context: click.Context) -> Iterator[None]:
    """Run a command; whatever it raises is told in one line, warnings as well."""
    try:
        with _warnings_on_stderr(), _sigterm_interrupts():
            yield
    except (click.exceptions.Exit, click.UsageError):
        raise
    except click.ClickException as error:
        _leave(context, error, error.format_message())
    except BrokenPipeError as error:
        # Otherwise Python complains once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(_BROKEN_PIPE) from error
    except (KeyboardInterrupt, click.Abort) as error:
        _leave(context, error, _STOPPED)
    except Exception as error:
        _leave(context, error, _line_about(error))


def _leave(context: click.Context, error: BaseException, message: str) -> None:
    if context.meta.get(DEBUG):
        traceback.print_exception(error)
    click.echo(f"Error: {_one_line(message)}", err=True)
    raise click.exceptions.Exit(BAD_INPUT) from error


def _line_about(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return f"Not enough memory. {error}"
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f": {str(error.filename)!r}"
        return f"{error.strerror}{where}. Nothing was written."
    if isinstance(error, ValueError | OSError | ImportError):
        return str(error)
    kind = type(error).__name__
    return f"This is a bug of dircal: {kind}: {error}. Please report it with the output of --debug."


def _one_line(message: str) -> str:
    return " ".join(message.split())


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Show each warning of ours once, as a line."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        # Row sums are told of the first chunk, and are no news in the next.
        key = category.__name__ if category.__name__ == "RowSumWarning" else str(message)
        if category.__module__.startswith("dircal.") and key not in shown:
            shown.add(key)
            click.echo(f"Warning: {_one_line(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """A polite request to end cleans up like Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
