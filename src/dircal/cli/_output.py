"""What the commands print, and the files they may write to."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np

from dircal._files import check_target

__all__ = [
    "busy",
    "check_output",
    "make_console",
    "print_answer",
    "print_json",
    "print_lines",
    "print_table",
    "show_chance",
]

# Where nobody is watching, lines need not be cut to a screen.
_WIDTH = 120


def check_output(path: Path, *, force: bool, inputs: Sequence[Path]) -> None:
    """Refuse, before any work, an output that could not be written at the end."""
    target = check_target(path)
    for source in inputs:
        if target == Path(os.path.realpath(source)):
            raise ValueError(
                f"--output {str(path)!r} is the input. Name another file: a file that is being "
                "read cannot be replaced."
            )
    if target.exists() and not force:
        raise FileExistsError(
            f"--output {str(path)!r} exists already. Name another file, or pass --force."
        )
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"--output {str(path)!r} lies in a folder that cannot be written to. Name another."
        )


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a person who is watching that work goes on which cannot say how far it is."""
    console = make_console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield


def print_answer(as_json: bool, document: dict[str, Any], *lines: str) -> None:
    """What a command has done, for machines or for people."""
    if as_json:
        print_json(document)
    else:
        print_lines(lines)


def print_json(document: dict[str, Any]) -> None:
    """One JSON object; what is no number is null."""
    click.echo(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(list(value) if value.dtype.kind in "mM" else value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, bytes):
        return value.decode("latin1")
    # Labels may be dates and the like.
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(_plain(key))


def print_lines(lines: Iterable[str]) -> None:
    """Sentences, folded to the width of the screen."""
    from rich.text import Text

    console = _console()
    for line in lines:
        console.print(Text(line))


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> None:
    """A table; the first ``texts`` columns are words, the others numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i, name in enumerate(head):
        table.add_column(Text(name), justify="left" if i < texts else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _console().print(table)


def _console() -> Any:
    console = make_console(highlight=False)
    return console if console.is_terminal else make_console(highlight=False, width=_WIDTH)


def make_console(**options: Any) -> Any:
    """A console of rich that leaves it to us what to do when its reader goes away."""
    from rich.console import Console

    class PatientConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with 1, which says that a gate has failed.
            raise BrokenPipeError

    return PatientConsole(**options)


def show_chance(pvalue: float | None) -> str:
    """A p-value."""
    if pvalue is None:
        return ""
    return f"{pvalue:.3f}" if pvalue >= 0.0005 else "<.001"
