"""Parquet, by pyarrow: read and written in batches of rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dircal._typing import AnyFloatArray, LabelArray
from dircal.cli.tables._base import (
    LONGEST_TEXT,
    MARKS,
    AbstractChunk,
    AbstractTable,
    Change,
    Columns,
    as_many_rows,
    label_too_long,
    read_marks,
)

__all__ = ["Batch", "ParquetTable"]

# Read ahead in pieces: a column of one row group may be larger than the memory.
_BUFFER = 2**20
# Rows of a group that is written; it waits in memory until it is full.
_GROUP_ROWS = 2**19


@dataclass
class Batch(AbstractChunk):
    """Rows of a file."""

    rows: pa.RecordBatch
    names: tuple[str, ...]
    first: int
    kept: npt.NDArray[np.intp] | None = None

    @property
    def advance(self) -> int:  # type: ignore[override]
        return int(self.rows.num_rows)

    @property
    def n_rows(self) -> int:
        return int(self.rows.num_rows)

    def column(self, column: int) -> Any:
        """By position in the file, wherever it stands in the batch."""
        name = self.names[column]
        if self.names.count(name) > 1:
            raise ValueError(f"several columns are called {name!r:.80}. Give each its own name.")
        return self.rows.column(name)

    def numbers(self, columns: Columns) -> AnyFloatArray:
        arrays = [self._numbers(column) for column in columns]
        single = all(array.dtype == np.float32 for array in arrays)
        out = np.empty((self.rows.num_rows, len(arrays)), np.float32 if single else np.float64)
        for j, array in enumerate(arrays):
            out[:, j] = array
        return out

    def _numbers(self, column: int) -> Any:
        array = self._without_null(column)
        kind = array.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or _is_decimal(kind)):
            raise ValueError(
                f"column {self.names[column]!r} holds {kind}, not numbers. Choose the columns with "
                "the scores: --columns."
            )
        array = array.cast(pa.float64()) if _is_decimal(kind) else array
        return array.to_numpy(zero_copy_only=False)

    def values(self, column: int) -> LabelArray:
        array = self._without_null(column)
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        kind = array.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            texts = array.to_pylist()
            longest = max(map(len, texts), default=0)
            if longest > LONGEST_TEXT:
                raise label_too_long(f"column {self.names[column]!r}", longest)
            return np.array(texts, dtype=str)
        if not (
            pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
        ):
            raise ValueError(
                f"column {self.names[column]!r} holds {kind}; labels and groups must be strings, "
                "integers or booleans. Convert it."
            )
        return np.asarray(array.to_numpy(zero_copy_only=False))

    def times(self, column: int) -> LabelArray:
        array = self._without_null(column)
        if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
            # Those with a zone as instants, in UTC.
            return np.asarray(array.to_numpy(zero_copy_only=False))
        return self.values(column)

    def is_empty(self, column: int) -> npt.NDArray[np.bool_]:
        array = self.column(column)
        # Frames of pandas have NaN there.
        return np.asarray(array.is_null(nan_is_null=pa.types.is_floating(array.type)))

    def take(self, rows: npt.NDArray[np.bool_]) -> "Batch":
        return replace(self, rows=self.rows.filter(pa.array(rows)), kept=np.flatnonzero(rows))

    def _without_null(self, column: int) -> Any:
        array = self.column(column)
        if array.null_count:
            row = int(np.asarray(array.is_null()).argmax())
            raise ValueError(
                f"{self.place(row)}, column {self.names[column]!r} is empty. Repair the row, or "
                "leave it out."
            )
        return array


class ParquetTable(AbstractTable):
    """A Parquet file."""

    unit = "rows"

    def __init__(self, path: Path) -> None:
        self.path = path
        with _arrow_errors(path):
            self._file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
            self._schema = self._file.schema_arrow
        self.names = tuple(self._schema.names)
        self.size = int(self._file.metadata.num_rows)
        self.marks = read_marks((self._schema.metadata or {}).get(MARKS.encode(), b""))

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        return self._batches([self.names[column] for column in columns])

    def _batches(self, names: list[str] | None) -> Iterator[Batch]:
        first = 0
        n_columns = len(self.names) if names is None else len(names)
        batches = self._file.iter_batches(batch_size=as_many_rows(n_columns), columns=names)
        while True:
            with _arrow_errors(self.path):
                rows = next(batches, None)
            if rows is None:
                return
            yield Batch(rows, self.names, first)
            first += rows.num_rows

    def rewrite(self, target: Path, change: Change) -> None:
        schema = self._changed_schema(change)
        places = change.columns if change.names is None else range(len(self.names), len(schema))
        batches = self._batches(None)
        first = next(batches, None)
        codecs, words = ("snappy", set()) if first is None else self._encoding()
        # Hardly two calibrated numbers are equal: a dictionary of them would only take time.
        words -= {schema.field(place).name for place in places}
        with (
            target.open("xb") as file,
            pq.ParquetWriter(
                file, schema, compression=codecs, use_dictionary=sorted(words)
            ) as writer,
        ):
            waiting: list[Any] = []
            for chunk in () if first is None else chain([first], batches):
                numbers = change.transform(chunk, chunk.numbers(change.columns))
                arrays = list(chunk.rows.columns) + [None] * (len(schema) - len(self.names))
                for place, values in zip(places, numbers.T, strict=True):
                    kind = schema.field(place).type
                    arrays[place] = pa.array(values.astype(kind.to_pandas_dtype()))
                waiting.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
                if sum(rows.num_rows for rows in waiting) >= _GROUP_ROWS:
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting.clear()
                change.tell(chunk.advance)
            writer.write_table(pa.Table.from_batches(waiting, schema))

    def _changed_schema(self, change: Change) -> Any:
        """Single precision stays single; whatever else there was becomes double."""
        single = all(self._schema.field(c).type == pa.float32() for c in change.columns)
        kind, schema = pa.float32() if single else pa.float64(), self._schema
        marks = {MARKS.encode(): self.marks_after(change)}
        schema = schema.with_metadata({**(schema.metadata or {}), **marks})
        if change.names is not None:
            for name in change.names:
                schema = schema.append(pa.field(name, kind))
            return schema
        for column in change.columns:
            schema = schema.set(column, schema.field(column).with_type(kind))
        return schema

    def _encoding(self) -> tuple[dict[str, str] | str, set[str]]:
        """How each column is compressed, by its path, and which have a dictionary.

        To be asked when the first rows have been read. To read them checks what is asked for here,
        where pyarrow ends the process if it is damaged.
        """
        metadata = self._file.metadata
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        group = next(group for group in groups if group.num_rows > 0)
        parts = [group.column(i) for i in range(group.num_columns)]
        codecs = {part.path_in_schema: part.compression for part in parts}
        words = {part.path_in_schema for part in parts if part.has_dictionary_page}
        return {path: "NONE" if c == "UNCOMPRESSED" else c for path, c in codecs.items()}, words


def _is_decimal(kind: Any) -> bool:
    return bool(pa.types.is_decimal(kind))


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    """Turn the errors of pyarrow about a file into one that names it."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        text = str(error).partition("\n")[0]
        raise ValueError(
            f"{str(path)!r} cannot be read as Parquet ({text[:200]}). Check that it is the right "
            "file, and whole."
        ) from error
