"""What every kind of file of predictions offers: columns with names, and rows in chunks."""

import gzip
import json
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dircal._files import NO_ROOM, no_temporary_room
from dircal._typing import AnyFloatArray, FloatArray, LabelArray

__all__ = [
    "CHUNK_CELLS",
    "LONGEST_TEXT",
    "MARKS",
    "AbstractChunk",
    "AbstractTable",
    "Change",
    "Columns",
    "as_many_rows",
    "label_too_long",
    "read_marks",
    "reading",
]

Columns: TypeAlias = Sequence[int]
"""Positions of columns."""

MARKS = "dircal.calibrated"
"""Where files keep by which map what was calibrated."""
CHUNK_CELLS = 2**20
"""A chunk holds about so many cells, whatever the number of columns."""
LONGEST_TEXT = 10_000
"""Characters of a label or a name: every label of an array takes as much as the longest."""
_FEWEST_ROWS, _MOST_ROWS = 256, 2**17


def as_many_rows(n_columns: int) -> int:
    """Rows of a chunk."""
    return int(np.clip(CHUNK_CELLS // max(n_columns, 1), _FEWEST_ROWS, _MOST_ROWS))


def label_too_long(where: str, length: int) -> ValueError:
    """What to say of a text that cannot be a label."""
    return ValueError(
        f"{where} holds a label of {length:,} characters; at most {LONGEST_TEXT:,} are read. Check "
        "that --label names the column with the labels."
    )


class AbstractChunk(ABC):
    """Some rows that follow each other.

    ``first`` is the number of the first of them, ``advance`` how far they bring us, in the unit of
    the table. ``kept`` are those that were taken of the rows between, None for all.
    """

    first: int
    advance: int
    kept: npt.NDArray[np.intp] | None = None

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of the rows."""

    @abstractmethod
    def numbers(self, columns: Columns) -> AnyFloatArray:
        """Numbers (m, c) of these columns, or a ValueError that says where there is none."""

    @abstractmethod
    def values(self, column: int) -> LabelArray:
        """Labels (m,) in this column, or a ValueError that says where there is none."""

    def times(self, column: int) -> LabelArray:
        """Times (m,) in this column, in the form that it has them."""
        return self.values(column)

    @abstractmethod
    def is_empty(self, column: int) -> npt.NDArray[np.bool_]:
        """Which rows (m,) have no label in this column."""

    @abstractmethod
    def take(self, rows: npt.NDArray[np.bool_]) -> "AbstractChunk":
        """Some of the rows."""

    def place(self, row: int) -> str:
        """How people find a row of the chunk in the file."""
        return f"row {self.first + (row if self.kept is None else int(self.kept[row]))}"


@dataclass(frozen=True)
class Change:
    """What `AbstractTable.rewrite` does to the rows.

    ``columns`` go through ``transform``, which takes a chunk and their numbers and returns as many
    columns. They take the place of the old ones, or stand behind all others under the ``names``.
    ``tell`` hears how far each chunk brings us. ``mark`` names the map, for files that have a place
    for it.
    """

    columns: Columns
    names: Sequence[str] | None
    transform: Callable[[AbstractChunk, AnyFloatArray], FloatArray]
    tell: Callable[[int], None]
    mark: str = ""


class AbstractTable(AbstractContextManager[Any], ABC):
    """A file of predictions, opened for reading.

    ``names`` are those of its columns; ``score_columns`` are the columns that are scores by
    nature, as those of an array are, and None where only their names can tell. ``size`` is how
    far there is to go, in ``unit``. ``marks`` tell which columns or arrays were made by which map.
    """

    path: Path
    names: tuple[str, ...]
    score_columns: range | None = None
    size: int
    unit: str
    marks: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        """All rows from the beginning; only these columns may be asked for."""

    @abstractmethod
    def rewrite(self, target: Path, change: Change) -> None:
        """The same file with some columns changed, at another place."""

    def names_to_add(self, names: list[str]) -> list[str]:
        """What new columns are called after, where these columns are changed."""
        return names

    def has(self, name: str) -> bool:
        """Whether something in the file is called so, and nothing new can be."""
        return name in self.names

    def marks_after(self, change: Change) -> bytes:
        """The marks of a changed file, as text."""
        names = change.names or self.names_to_add([self.names[i] for i in change.columns])
        marks = {**self.marks, **dict.fromkeys(names, change.mark)}
        return json.dumps({MARKS: marks}).encode()

    def as_labels(self, values: LabelArray) -> LabelArray:
        """Labels of all rows, of the type they stand for."""
        return values

    def __exit__(self, *_: object) -> None:
        """Close what is open."""


def read_marks(text: bytes) -> dict[str, str]:
    """What `AbstractTable.marks_after` wrote; nothing where it is something else."""
    try:
        marks = json.loads(text)[MARKS]
        return {str(name): str(mark) for name, mark in marks.items()}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn the many errors of damaged files into one kind, a ValueError that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{str(path)!r} is not text in {error.encoding.upper()} (byte "
            f"0x{error.object[error.start]:02x}). Save it as UTF-8, or say what it is, for example "
            "--encoding cp1252 or --encoding utf-16."
        ) from error
    except UnicodeError as error:
        # Such as the lack of a mark that UTF-16 begins with.
        raise ValueError(
            f"{str(path)!r} is not text in the encoding that was named ({error}). Pass another "
            "--encoding, or save the file as UTF-8."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{str(path)!r} is damaged or cut off ({error}). Write or copy it again."
        ) from error
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        # Reading takes room only where something is unpacked.
        raise no_temporary_room(error, f"{str(path)!r} is unpacked") from error
