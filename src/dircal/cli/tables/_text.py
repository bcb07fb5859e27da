"""CSV and its relatives, also compressed: read and written record by record.

Cells are kept as they stand in the file, with their quotes. What is not changed comes out as it
went in, byte for byte.
"""

import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray, LabelArray
from dircal.cli.tables._base import (
    LONGEST_TEXT,
    AbstractChunk,
    AbstractTable,
    Change,
    Columns,
    as_many_rows,
    label_too_long,
    reading,
)
from dircal.cli.tables._dialect import found_delimiter, plain_number, written_number
from dircal.cli.tables._records import LONGEST_RECORD, Record, RecordReader

__all__ = ["TextTable", "parse_whole_numbers"]

# A chunk is full when it holds this many characters, however few rows these are.
_CHUNK_CHARACTERS = 2**24
# Cells of text take longer, and more memory, than numbers do: chunks are so many times smaller.
_WEIGHT = 8
_MARK = "\ufeff"
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
# 007 is a name, and what has more digits than this does not fit an integer.
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.0+)?")


@dataclass
class _TextChunk(AbstractChunk):
    names: tuple[str, ...]
    first: int
    decimal: str = "."
    advance: int = 0
    records: list[Record] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        return len(self.records)

    def place(self, row: int) -> str:
        here = row < len(self.records)
        return f"line {self.records[row].line}" if here else super().place(row)

    def numbers(self, columns: Columns) -> FloatArray:
        cells = [record.cells[column] for record in self.records for column in columns]
        try:
            # Python reads 1_000 as a number, and nobody else does.
            if "_" in "".join(cells) or self.decimal != ".":
                raise ValueError
            values = np.array([float(cell) for cell in cells])
        except ValueError:
            values = np.array([self._number(i, columns) for i in range(len(cells))])
        return values.reshape(len(self.records), len(columns))

    def _number(self, i: int, columns: Columns) -> float:
        """The number of one cell, with patience for quotes."""
        row, j = divmod(i, len(columns))
        cell = _content(self.records[row].cells[columns[j]]).strip()
        try:
            return plain_number(cell, self.decimal)
        except ValueError:
            what = f"holds {cell[:40]!r}, which is no number" if cell else "is empty"
            fix = "Repair the row, or leave it out."
            if _DECIMAL_COMMA.fullmatch(cell) and self.decimal == ".":
                fix = "Pass --decimal , if a comma stands before decimals."
            raise ValueError(
                f"{self.place(row)}, column {self.names[columns[j]]!r} {what}. {fix}"
            ) from None

    def values(self, column: int) -> LabelArray:
        texts = [_content(record.cells[column]) for record in self.records]
        if "" in texts:
            raise ValueError(
                f"{self.place(texts.index(''))}, column {self.names[column]!r} is empty. "
                "Leave out the rows without a label, or pass --skip-unlabelled."
            )
        longest = max(map(len, texts), default=0)
        if longest > LONGEST_TEXT:
            row = next(i for i, text in enumerate(texts) if len(text) == longest)
            raise label_too_long(f"{self.place(row)}, column {self.names[column]!r}", longest)
        return np.array(texts)

    def is_empty(self, column: int) -> npt.NDArray[np.bool_]:
        return np.array([not _content(record.cells[column]).strip() for record in self.records])

    def take(self, rows: npt.NDArray[np.bool_]) -> "_TextChunk":
        kept = [record for record, keep in zip(self.records, rows, strict=True) if keep]
        return replace(self, records=kept)


class TextTable(AbstractTable):
    """A text file with a record for each row and the names of the columns in the first."""

    unit = "bytes"

    def __init__(
        self,
        path: Path,
        usual: str,
        *,
        delimiter: str | None = None,
        decimal: str = ".",
        encoding: str | None = None,
    ) -> None:
        self.path = path
        self.size = path.stat().st_size
        self._decimal = decimal
        self._encoding = encoding or "utf-8"
        with self._open() as (_, text), reading(path):
            if text.read(1) == _MARK:
                # Read past the mark, which is no part of the first name, and written again.
                self._encoding = "utf-8-sig"
        with self._open() as (_, text), reading(path):
            self._delimiter = delimiter or found_delimiter(text.readline(LONGEST_RECORD), usual)
        self._reader = RecordReader(path, self._delimiter)
        with self._open() as (_, text), reading(path):
            self._header = self._read_header(text)
        self.names = tuple(_content(cell) for cell in self._header.cells)

    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        del columns  # a line is read whole
        return self._chunks()

    def rewrite(self, target: Path, change: Change) -> None:
        added = [self._quoted(name) for name in change.names or ()]
        with target.open("xb") as raw, self._compressed(raw) as file:
            header = self._header
            file.write(self._joined(header.cells + added, header.end))
            for chunk in self._chunks():
                numbers = change.transform(chunk, chunk.numbers(change.columns))
                for record, row in zip(chunk.records, numbers.tolist(), strict=True):
                    texts = [written_number(x, self._decimal, self._delimiter) for x in row]
                    if change.names is None:
                        for column, text in zip(change.columns, texts, strict=True):
                            record.cells[column] = text
                    else:
                        record.cells += texts
                file.write("".join(self._joined(r.cells, r.end) for r in chunk.records))
                change.tell(chunk.advance)

    def as_labels(self, values: LabelArray) -> LabelArray:
        whole = parse_whole_numbers(values)
        return values if whole is None else whole

    def _joined(self, cells: list[str], end: str) -> str:
        return self._delimiter.join(cells) + end

    def _quoted(self, name: str) -> str:
        special = (self._delimiter, '"', "\r", "\n")
        return '"' + name.replace('"', '""') + '"' if any(c in name for c in special) else name

    @property
    def _is_compressed(self) -> bool:
        return self.path.suffix.lower() == ".gz"

    @contextmanager
    def _open(self) -> Iterator[tuple[IO[bytes], io.TextIOWrapper]]:
        """The bytes of the file, whose position tells how far we are, and its text."""
        with self.path.open("rb") as raw:
            content = gzip.GzipFile(fileobj=raw) if self._is_compressed else raw
            # Line ends stay as they are.
            yield raw, io.TextIOWrapper(content, encoding=self._encoding, newline="")

    @contextmanager
    def _compressed(self, raw: IO[bytes]) -> Iterator[io.TextIOWrapper]:
        """Text to write, compressed like the original."""
        content = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if self._is_compressed else raw
        with io.TextIOWrapper(content, encoding=self._encoding, newline="") as text:
            yield text

    def _read_header(self, text: io.TextIOWrapper) -> Record:
        header = next(self._reader.records(text), None)
        if header is None:
            raise ValueError(f"{str(self.path)!r} is empty. Pass a file with a line of names.")
        if "\0" in "".join(header.cells):
            raise ValueError(
                f"{str(self.path)!r} is not a text file. Pass CSV in UTF-8, or give the file the "
                "ending of its type: .parquet, .npy or .npz."
            )
        for i, cell in enumerate(header.cells):
            if len(cell) > LONGEST_TEXT:
                raise ValueError(
                    f"{str(self.path)!r}: column {i} has a name of {len(cell):,} characters; at "
                    f"most {LONGEST_TEXT:,} are read. Check that the first line has the names."
                )
        return header

    def _chunks(self) -> Iterator[_TextChunk]:
        with self._open() as (raw, text), reading(self.path):
            records = self._reader.records(text)
            next(records)
            at, n_columns = raw.tell(), len(self.names)
            most = as_many_rows(_WEIGHT * n_columns)
            chunk, n_characters = _TextChunk(self.names, 0, self._decimal), 0
            for record in records:
                if len(record.cells) != n_columns:
                    raise ValueError(
                        f"{str(self.path)!r}: line {record.line} has {len(record.cells)} cells, "
                        f"but the first line names {n_columns} columns. Repair the line."
                    )
                chunk.records.append(record)
                n_characters += record.length
                if len(chunk.records) == most or n_characters >= _CHUNK_CHARACTERS:
                    chunk.advance = raw.tell() - at
                    yield chunk
                    at = raw.tell()
                    first = chunk.first + len(chunk.records)
                    chunk = _TextChunk(self.names, first, self._decimal)
                    n_characters = 0
            if chunk.records:
                chunk.advance = raw.tell() - at
                yield chunk


def _content(cell: str) -> str:
    """What a cell says, without its quotes."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def parse_whole_numbers(texts: LabelArray) -> LabelArray | None:
    """Integers, if all texts are such; None otherwise."""
    distinct, inverse = np.unique(texts, return_inverse=True)
    if not all(_WHOLE_NUMBER.fullmatch(text) for text in distinct.tolist()):
        return None
    return np.array([int(text.partition(".")[0]) for text in distinct.tolist()])[inverse]
