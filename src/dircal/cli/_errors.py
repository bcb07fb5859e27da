"""The one place where what goes wrong becomes a line on stderr and an exit code."""

import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import click

from dircal._files import NO_ROOM, WrittenFiles
from dircal._signals import requests_raise
from dircal._terminal import printable

__all__ = ["BAD_INPUT", "DEBUG", "GATE_FAILED", "SPOOLED", "AskedToEnd", "told"]

GATE_FAILED = 1
BAD_INPUT = 2
# What shells say of a program whose reader went away.
_BROKEN_PIPE = 141
DEBUG = "dircal.debug"
"""Key of `click.Context.meta`: whether tracebacks are wanted."""
SPOOLED = "dircal.standard_input"
"""Key of `click.Context.meta`: the file that standard input was copied to."""


class AskedToEnd(KeyboardInterrupt):
    """A request to end that reached this process alone, other than Ctrl-C on a terminal."""


@contextmanager
def told(context: click.Context | None = None) -> Iterator[None]:
    """Run a command; whatever it raises is told in one line, warnings as well."""
    _write_any_character()
    with WrittenFiles() as written:
        try:
            with _warnings_on_stderr(context), requests_raise(AskedToEnd):
                yield
        except click.exceptions.Exit:
            raise
        except click.UsageError as error:
            message = error.format_message()
            if printable(message) == message:
                raise
            raise click.UsageError(printable(message), error.ctx) from error
        except click.ClickException as error:
            _leave(context, error, error.format_message())
        except BrokenPipeError as error:
            _forget(sys.stdout)
            raise click.exceptions.Exit(_BROKEN_PIPE) from error
        except (KeyboardInterrupt, click.Abort) as error:
            _leave(context, error, f"Stopped; {_what_was_written(written)}.")
        except Exception as error:
            _leave(context, error, _line_about(error, written))


def _leave(context: click.Context | None, error: BaseException, message: str) -> None:
    if context is not None and context.meta.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    _tell(f"Error: {message}", context)
    raise click.exceptions.Exit(BAD_INPUT) from error


def _tell(message: str, context: click.Context | None) -> None:
    """One line on stderr, if anybody can be told; nobody knows the copy of standard input."""
    copy = None if context is None else context.meta.get(SPOOLED)
    if copy is not None:
        message = message.replace(repr(copy), "standard input").replace(copy, "standard input")
    try:
        click.echo(printable(" ".join(message.split())), err=True)
    except OSError:
        _forget(sys.stderr)


def _line_about(error: Exception, written: WrittenFiles) -> str:
    if isinstance(error, MemoryError):
        return f"Not enough memory. {error}"
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f": {str(error.filename)!r}"
        what = _what_was_written(written)
        end = f" {what[0].upper()}{what[1:]}."
        # Whatever else can be full is named by those who write to it.
        if error.filename is None and error.errno in NO_ROOM:
            _forget(sys.stdout)
            where = ": standard output, which is cut off"
            end = end if written.names() else ""
        return f"{error.strerror}{where}.{end}"
    if isinstance(error, UnicodeEncodeError):
        text = error.object[error.start : error.end + 10]
        return f"{text!r} cannot be written as text in {error.encoding.upper()}. Rename it."
    if isinstance(error, ValueError | OSError | ImportError):
        return str(error)
    kind = type(error).__name__
    return f"This is a bug of dircal: {kind}: {error}. Please report it with the output of --debug."


def _what_was_written(written: WrittenFiles) -> str:
    names = written.names()
    if not names:
        return "nothing was written"
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(map(repr, names))} {verb} written and whole"


def _forget(stream: TextIO) -> None:
    """What waits for a reader that is gone, or for a device that is full, goes nowhere.

    Otherwise Python would complain once more, and with another exit code, when it ends.
    """
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _write_any_character() -> None:
    """Characters that a terminal does not know are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _warnings_on_stderr(context: click.Context | None) -> Iterator[None]:
    """Show each warning of ours once, as a line."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        # Row sums are told of the first chunk, and are no news in the next.
        key = category.__name__ if category.__name__ == "RowSumWarning" else str(message)
        if category.__module__.startswith("dircal.") and key not in shown:
            shown.add(key)
            _tell(f"Warning: {message}", context)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
