"""Files that must not change while they are read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["changed", "unchanged"]


@contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """Raise if a file is not the same at the end, whatever else was raised meanwhile.

    Files are compared by place, size and time of the last change, which every write changes except
    one of the same length within a tick of the clock.
    """
    before = [_state(path) for path in paths]
    try:
        yield
    except Exception as error:
        _compare(paths, before, error)
        raise
    _compare(paths, before, None)


def _compare(paths: Sequence[Path], before: list[Any], error: Exception | None) -> None:
    for path, state in zip(paths, before, strict=True):
        if _state(path) != state:
            raise changed(path) from error


def changed(path: Path) -> ValueError:
    """Return the error about a file that changed while it was read."""
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
