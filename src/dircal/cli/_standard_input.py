"""Predictions that come through a pipe."""

import sys
from pathlib import Path

import click

from dircal._files import NO_ROOM, no_temporary_room, temporary_folder
from dircal.cli._errors import SPOOLED
from dircal.cli._output import is_stdout

__all__ = ["FORMATS", "input_file"]

FORMATS = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet", "npy", "npz")
"""Types of standard input, by the ending that a file of it would have."""


def input_file(context: click.Context, path: Path, kind: str | None) -> Path:
    """The file to read: the path itself, or a copy of standard input where the path is ``-``.

    Files are read more than once, and a pipe can be read once. The copy goes with the context.
    """
    if not is_stdout(path):
        if kind is not None:
            raise click.UsageError(
                f"--format {kind} is for standard input; what {str(path)!r} is, its ending says. "
                "Leave --format out, or pass - in the place of the file."
            )
        return path
    if kind is None:
        raise click.UsageError(
            f"Standard input has no ending that says what it is. Say it: --format, of "
            f"{', '.join(FORMATS)}."
        )
    if sys.stdin is None:
        raise ValueError("There is no standard input to read. Name a file.")
    import shutil

    folder = context.with_resource(temporary_folder())
    copy = folder / f"standard-input.{kind}"
    context.meta[SPOOLED] = str(copy)
    try:
        with copy.open("xb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise no_temporary_room(error, "standard input is copied to") from error
    return copy
