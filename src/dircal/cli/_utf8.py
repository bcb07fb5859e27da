"""Text files in UTF-8 that are not tables of predictions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

__all__ = ["open_utf8"]


@contextmanager
def open_utf8(path: Path, name: str) -> Iterator[TextIO]:
    """Open a file to read, and name it in the error about bytes that are not UTF-8."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not text in UTF-8 (byte 0x{error.object[error.start]:02x}). Save it as "
            "UTF-8."
        ) from None
