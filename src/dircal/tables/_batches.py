"""Batches: the rows of a table that are read together, wherever they lie."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dircal.tables._array_files import ArrayFile
from dircal.tables._conversion import NamedScores
from dircal.tables._text import TextFile, TextRows, require_pyarrow

__all__ = [
    "AbstractBatch",
    "ArrayBatch",
    "BatchRows",
    "DelayedBatch",
    "FrameBatch",
    "RowGroup",
    "TextBatch",
    "arrow_errors",
    "row_groups",
]


Names = Sequence[str]


@dataclass(frozen=True)
class BatchRows:
    """Some columns of a batch: the scores as a frame or a matrix, others by name."""

    scores: Any
    others: dict[str, Any]
    n_rows: int
    place: Callable[[int], str]


class AbstractBatch(ABC):
    """Rows that are read together. A batch can be sent to another process.

    ``n_rows`` is the number of rows that are copied into memory when they are used, 0 if they are
    mapped or always kept; ``has_text_labels`` tells whether labels are strings because nothing else
    can be, as in CSV.
    """

    n_rows: int = 0
    has_text_labels = False

    @property
    @abstractmethod
    def name(self) -> str:
        """What a message calls the batch."""

    @abstractmethod
    def read(self, scores: Names, others: Names, numbers: Names = ()) -> BatchRows:
        """Read columns; ``numbers`` are others that must be numbers."""

    def place(self, row: int) -> str:
        """Name a row in a message, by its number in the batch."""
        return f"row {row} of {self.name}"


class FrameBatch(AbstractBatch):
    """A data frame in memory; ``part`` names it if it is not the whole table."""

    def __init__(self, frame: Any, part: str = "") -> None:
        self.frame, self.part = frame, part
        self.n_rows = len(nw.from_native(frame, eager_only=True))

    @property
    def name(self) -> str:
        return self.part or "the table"

    def read(self, scores: Names, others: Names, numbers: Names = ()) -> BatchRows:
        table = nw.from_native(self.frame, eager_only=True)
        _require_columns([*scores, *others, *numbers], table.columns, self.name)
        columns = {name: _plain_column(table[name]) for name in others}
        columns |= {name: table[name].to_numpy() for name in numbers}
        part = table.select(*scores).to_native() if scores else None
        return BatchRows(part, columns, len(table), self.place)

    def place(self, row: int) -> str:
        return super().place(row) if self.part else f"row {row}"


@dataclass(frozen=True)
class DelayedBatch(AbstractBatch):
    """A partition of a Dask data frame, whose number of rows is not known before it is computed."""

    delayed: Any
    number: int

    @property
    def name(self) -> str:
        return f"partition {self.number}"

    def read(self, scores: Names, others: Names, numbers: Names = ()) -> BatchRows:
        frame = self.delayed.compute(scheduler="synchronous")
        return FrameBatch(frame, self.name).read(scores, others, numbers)


@dataclass(frozen=True)
class RowGroup(AbstractBatch):
    """A row group of a Parquet file, which begins at row ``first`` of the file."""

    path: str
    group: int
    first: int
    n_rows: int

    @property
    def name(self) -> str:
        return f"{self.path!r}, row group {self.group}"

    def read(self, scores: Names, others: Names, numbers: Names = ()) -> BatchRows:
        import pyarrow.parquet as pq

        names = [*scores, *others, *numbers]
        with arrow_errors(self.path), pq.ParquetFile(self.path, memory_map=True) as file:
            _require_columns(names, file.schema_arrow.names, repr(self.path))
            table = file.read_row_group(
                self.group, columns=list(dict.fromkeys(names)), use_threads=False
            )
        return replace(FrameBatch(table).read(scores, others, numbers), place=self.place)

    def place(self, row: int) -> str:
        return f"row {self.first + row} of {self.path!r}"


class TextBatch(AbstractBatch):
    """A text file, which is read once and stays in memory as text."""

    has_text_labels = True

    def __init__(self, file: TextFile) -> None:
        self.file = file

    @property
    def name(self) -> str:
        return repr(str(self.file.path))

    def read(self, scores: Names, others: Names, numbers: Names = ()) -> BatchRows:
        _require_columns([*scores, *others, *numbers], self.file.names, self.name)
        rows = self._rows
        matrix = NamedScores(rows.numbers(scores), np.array([*scores], dtype=object))
        columns = {name: rows.texts(name) for name in others}
        columns |= {name: rows.numbers([name])[:, 0] for name in numbers}
        return BatchRows(matrix, columns, len(rows), rows.place)

    @cached_property
    def _rows(self) -> TextRows:
        return self.file.read()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process reads the file itself.
        return TextBatch, (self.file,)


@dataclass(frozen=True)
class ArrayBatch(AbstractBatch):
    """An array of scores, whose columns are called by their numbers, and other arrays.

    Other arrays can be NPY files, too.
    """

    file: ArrayFile

    @property
    def name(self) -> str:
        return repr(str(self.file.path))

    def read(self, scores: Names, others: Names, numbers: Names = ()) -> BatchRows:
        matrix = self.file.read(self.file.scores) if scores else None
        if matrix is not None and [*scores] != [str(i) for i in range(self.file.n_scores)]:
            matrix = matrix[:, [int(name) for name in scores]]
        arrays = {name: self.file.column(name) for name in (*others, *numbers)}
        return BatchRows(matrix, arrays, self.file.n_rows, "row {}".format)


def _require_columns(wanted: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise unless a batch has all columns that the first one has."""
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(
            f"{where} has no column called {missing[0]!r}. Its columns: "
            f"{', '.join(map(repr, names[:12]))}."
        )


def _plain_column(series: Any) -> Any:
    """Return a column as validation takes it; Arrow's own as NumPy's."""
    native = series.to_native()
    if type(native).__module__.partition(".")[0] != "pyarrow":
        return native
    native = native.combine_chunks()
    if str(native.type) in ("string", "large_string") and native.null_count == 0:
        # Rows of one label then share one object, whose hash is known.
        native = native.dictionary_encode()
    if not hasattr(native, "dictionary"):
        if native.null_count and "int" in str(native.type):
            # NumPy would make them floats.
            return np.array(native.to_pylist(), dtype=object)
        return native.to_numpy(zero_copy_only=False)
    if native.null_count > 0:
        return native.dictionary_decode().to_numpy(zero_copy_only=False)
    return native.dictionary.to_numpy(zero_copy_only=False)[native.indices.to_numpy()]


@contextmanager
def arrow_errors(path: str | Path) -> Iterator[None]:
    """Turn the errors of pyarrow about the content of a file into one that names the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError | MemoryError):
            raise
        raise ValueError(
            f"{str(path)!r} cannot be read as Parquet ({str(error).partition(chr(10))[0][:200]}). "
            "Check that it is the right file, and whole."
        ) from error


def row_groups(files: Sequence[str | os.PathLike[str]]) -> tuple[list[RowGroup], tuple[str, ...]]:
    """Return the row groups of Parquet files, and the names of the columns of the first."""
    require_pyarrow("Parquet files need")
    import pyarrow.parquet as pq

    groups: list[RowGroup] = []
    names: tuple[str, ...] = ()
    for file in map(str, files):
        with arrow_errors(file):
            metadata, schema = pq.read_metadata(file), pq.read_schema(file)
        names = names or tuple(schema.names)
        first = 0
        for i in range(metadata.num_row_groups):
            n_rows = metadata.row_group(i).num_rows
            groups.append(RowGroup(file, i, first, n_rows))
            first += n_rows
    return groups, names
