"""What the commands print, and the files they may write to."""

import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from dircal._files import (
    NO_ROOM,
    check_target,
    no_temporary_room,
    remove_abandoned,
    temporary_folder,
    whole_file,
)
from dircal._terminal import OBEYED, printable

__all__ = [
    "check_outputs",
    "is_stdout",
    "make_console",
    "name_of_output",
    "output_file",
    "print_answer",
    "print_json",
    "print_lines",
    "print_table",
]

# Where nobody is watching, lines need not be cut to a screen.
_WIDTH = 120


def is_stdout(output: Path) -> bool:
    """Whether the output is ``-``: what would be in a file is printed, and the answer on stderr."""
    return output == Path("-")


def name_of_output(output: Path) -> str:
    """The output in a sentence."""
    return "standard output" if is_stdout(output) else str(output)


def check_outputs(
    outputs: Iterable[tuple[str, Path | None]],
    *,
    force: bool,
    inputs: Iterable[Path | None],
) -> None:
    """Reject, before any work, outputs that cannot be written or that overwrite another file.

    ``outputs`` are all files that the command writes, with the option that names each, and
    ``inputs`` all files that it reads; None stands for an option that is not given.
    """
    named = [(option, path) for option, path in outputs if path is not None]
    read = [path for path in inputs if path is not None and not is_stdout(path)]
    for option, path in named:
        if not is_stdout(path):
            _check_output(option, path, force, read)
    for (option, path), (other_option, other) in combinations(named, 2):
        if _is_one_output(path, other):
            raise ValueError(
                f"{other_option} {str(other)!r} is the same file as {option} {str(path)!r}. Name "
                "another file: each result needs its own."
            )


def _check_output(option: str, path: Path, force: bool, inputs: Sequence[Path]) -> None:
    target = check_target(path)
    if any(_is_one_file(target, source) for source in inputs):
        raise ValueError(
            f"{option} {str(path)!r} is the input. Name another file: a file that is being read "
            "cannot be replaced."
        )
    if target.exists() and not force:
        raise FileExistsError(
            f"{option} {str(path)!r} exists already. Name another file, or pass --force."
        )
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"{option} {str(path)!r} lies in a folder that cannot be written to. Name another."
        )


def _is_one_file(first: Path, second: Path) -> bool:
    """Whether two paths lead to the same file, also through links of either kind."""
    try:
        return first.samefile(second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def _is_one_output(first: Path, second: Path) -> bool:
    """Whether two outputs are one file, on this file system or on one that ignores case."""
    if is_stdout(first) or is_stdout(second):
        return is_stdout(first) and is_stdout(second)
    if _is_one_file(first, second):
        return True
    one, other = check_target(first), check_target(second)
    return _is_one_file(one.parent, other.parent) and _folded(one) == _folded(other)


def _folded(path: Path) -> str:
    return unicodedata.normalize("NFC", path.name).casefold()


@contextmanager
def output_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A name to write to, which becomes the output at the end, whole or not at all.

    What commands that were killed have left in its folder goes first: it may be large.
    """
    if is_stdout(path):
        with temporary_folder() as folder:
            whole = folder / "output"
            try:
                with whole_file(whole) as temporary:
                    yield temporary
            except OSError as error:
                if error.errno not in NO_ROOM or error.filename != str(whole):
                    raise
                raise no_temporary_room(error, "the output is written first") from error
            _copy_to_stdout(whole)
        return
    remove_abandoned(check_target(path).parent)
    try:
        with whole_file(path, replace=force) as temporary:
            yield temporary
    except FileExistsError as error:
        raise FileExistsError(
            f"{str(path)!r} came into being while the command ran, and was not replaced. Name "
            "another file, or pass --force."
        ) from error


def _copy_to_stdout(file: Path) -> None:
    if sys.stdout is None:
        raise ValueError("--output '-': there is no standard output. Name a file.")
    import shutil

    sys.stdout.flush()
    try:
        with file.open("rb") as content:
            shutil.copyfileobj(content, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except KeyboardInterrupt as error:
        raise click.ClickException("Stopped; what was printed is cut off.") from error


def print_answer(as_json: bool, document: dict[str, Any], *lines: str) -> None:
    """What a command has done, for machines or for people.

    Where an output itself is printed, this goes to stderr.
    """
    written = (document.get(name) for name in ("output", "map"))
    aside = any(is_stdout(Path(one)) for one in written if one is not None)
    if as_json:
        print_json(document, stderr=aside)
    else:
        print_lines(lines, stderr=aside)


def print_json(document: dict[str, Any], *, stderr: bool = False) -> None:
    """One JSON object; what is no number is null."""
    import json

    from dircal._json import to_plain

    plain = to_plain(document)
    text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    text = OBEYED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    stream = sys.stderr if stderr else sys.stdout
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, indent=2, allow_nan=False)
    click.echo(text, err=stderr)


def print_lines(lines: Iterable[str], *, stderr: bool = False) -> None:
    """Sentences, folded to the width of the screen."""
    from rich.text import Text

    console = _console(stderr=stderr)
    for line in lines:
        console.print(Text(printable(line)))


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int = 1) -> None:
    """A table; the first ``texts`` columns are words, the others numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i, name in enumerate(head):
        table.add_column(
            Text(printable(name)), justify="left" if i < texts else "right", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    _console().print(table)


def _console(*, stderr: bool = False) -> Any:
    console = make_console(highlight=False, stderr=stderr)
    if console.is_terminal:
        return console
    return make_console(highlight=False, stderr=stderr, width=_WIDTH)


def make_console(**options: Any) -> Any:
    """A console of rich that leaves it to us what to do when its reader goes away."""
    from rich.console import Console

    class PatientConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with 1, which says that a gate has failed.
            raise BrokenPipeError

    return PatientConsole(**options)
