"""A file that is read must be the same file at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["changed", "unchanged"]


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Read a file; what was read is worth nothing if the file is another one afterwards.

    It goes by place, size and time of the last change, which every write moves but one of the
    same length within a tick of the clock. What reading has raised meanwhile was no fault of the
    file that is there now.
    """
    before = _state(path)
    try:
        yield
    except Exception as error:
        if _state(path) != before:
            raise changed(path) from error
        raise
    if _state(path) != before:
        raise changed(path)


def changed(path: Path) -> ValueError:
    """The error about a file that did not stay as it was."""
    return ValueError(
        f"{str(path)!r} changed while it was read. Wait until it is written, and run the command "
        "again."
    )


def _state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
