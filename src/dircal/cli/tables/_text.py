"""CSV and its relatives, also compressed: read and written record by record.

Cells are kept as they stand in the file, with their quotes. What is not changed comes out as it
went in, byte for byte.
"""

import codecs
import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from dircal._typing import LabelArray
from dircal.cli.tables._base import (
    LONGEST_TEXT,
    AbstractChunk,
    AbstractTable,
    Change,
    Columns,
    as_many_rows,
    reading,
)
from dircal.cli.tables._dialect import found_delimiter, written_number
from dircal.cli.tables._records import LONGEST_RECORD, Record, RecordReader
from dircal.cli.tables._text_chunks import LaterChunk, TextChunk, content

__all__ = ["TextTable", "parse_whole_numbers"]

# A chunk is full when it holds this many characters, however few rows these are.
_CHUNK_CHARACTERS = 2**24
# Cells of text take longer, and more memory, than numbers do: chunks are so many times smaller.
_WEIGHT = 8
# Smaller files are done before pyarrow is imported.
_WORTH_PYARROW = 2**20
_MARK = "\ufeff"
# 007 is a name, and what has more digits than this does not fit an integer.
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.0+)?")


class _Place(NamedTuple):
    """Where a row begins: bytes, lines and rows before it."""

    byte: int
    line: int
    row: int

    def after(self, data: bytes, n_rows: int) -> "_Place":
        """The place behind some rows."""
        n_lines = data.count(b"\n")
        if b"\r" in data:
            n_lines += data.count(b"\r") - data.count(b"\r\n")
        return _Place(self.byte + len(data), self.line + n_lines, self.row + n_rows)


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
        self.names = tuple(content(cell) for cell in self._header.cells)

    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        del columns  # a line is read whole
        return self._chunks()

    def rewrite(self, target: Path, change: Change) -> None:
        added = [self._quoted(name) for name in change.names or ()]
        with target.open("xb") as raw, self._compressed(raw) as file:
            header = self._header
            file.write(self._joined(header.cells + added, header.end))
            if self._suits_blocks(change.columns):
                file.flush()
                self._rewrite_blocks(raw, change)
                return
            for chunk in self._chunks():
                file.write(self._changed(chunk, change))
                change.tell(chunk.advance)

    def _changed(self, chunk: TextChunk, change: Change) -> str:
        """The text of a chunk with some columns changed."""
        numbers = change.transform(chunk, chunk.numbers(change.columns))
        for record, row in zip(chunk.records, numbers.tolist(), strict=True):
            texts = [written_number(x, self._decimal, self._delimiter) for x in row]
            if change.names is None:
                for column, text in zip(change.columns, texts, strict=True):
                    record.cells[column] = text
            else:
                record.cells += texts
        return self._text_of(chunk.records)

    def _suits_blocks(self, columns: Columns) -> bool:
        """Whether pyarrow is here and may find most rows plain in form."""
        return (
            self.size >= _WORTH_PYARROW
            and not self._is_compressed
            and codecs.lookup(self._encoding).name in ("utf-8", "utf-8-sig")
            and self._decimal == "."
            and self._delimiter.isascii()
            and self._delimiter not in '"\r\n'
            and 0 < len(columns) == len(set(columns))
            and find_spec("pyarrow") is not None
        )

    def _rewrite_blocks(self, target: IO[bytes], change: Change) -> None:
        """Write the rows as blocks of bytes; those not plain in form, a chunk at a time, as text.

        Blocks and chunks have the same rows, so that a sum has the same digits in both.
        """
        from dircal.cli.tables._blocks import BlockReader

        with self.path.open("rb") as file:
            reader = BlockReader(
                file,
                self._delimiter,
                n_columns=len(self.names),
                n_rows=self._chunk_rows,
                most_bytes=_CHUNK_CHARACTERS,
            )
            mark = _MARK.encode()
            start = len(mark) if file.read(len(mark)) == mark else 0
            place = _Place(start, 0, 0).after(self._text_of([self._header]).encode(), 0)
            while True:
                with reading(self.path):
                    block = reader.block_at(place.byte)
                numbers = None if block is None else block.numbers(change.columns)
                if block is None or numbers is None:
                    chunk = self._chunk_at(place)
                    if chunk is None:
                        return
                    old = self._text_of(chunk.records).encode()
                    target.write(self._changed(chunk, change).encode())
                    n_rows = chunk.n_rows
                else:
                    old, n_rows = block.data, block.n_rows
                    later = LaterChunk(partial(self._chunk_at, place), place.row, n_rows)
                    values = change.transform(later, numbers)
                    if change.names is None:
                        target.write(block.replaced(change.columns, values))
                    else:
                        target.write(block.extended(values))
                change.tell(len(old))
                place = place.after(old, n_rows)

    def as_labels(self, values: LabelArray) -> LabelArray:
        whole = parse_whole_numbers(values)
        return values if whole is None else whole

    def _joined(self, cells: list[str], end: str) -> str:
        return self._delimiter.join(cells) + end

    def _text_of(self, records: list[Record]) -> str:
        return "".join(self._joined(record.cells, record.end) for record in records)

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

    @property
    def _chunk_rows(self) -> int:
        return as_many_rows(_WEIGHT * len(self.names))

    def _chunks(self) -> Iterator[TextChunk]:
        with self._open() as (raw, text), reading(self.path):
            records = self._reader.records(text)
            next(records)
            yield from self._chunked(records, raw, 0)

    def _chunk_at(self, place: "_Place") -> TextChunk | None:
        """The chunk that begins at a place of a file in UTF-8; None at its end."""
        with self.path.open("rb") as raw, reading(self.path):
            raw.seek(place.byte)
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            records = self._reader.records(text, place.line)
            return next(self._chunked(records, raw, place.row), None)

    def _chunked(
        self, records: Iterator[Record], raw: IO[bytes], first: int
    ) -> Iterator[TextChunk]:
        at, n_columns = raw.tell(), len(self.names)
        chunk, n_characters = TextChunk(self.names, first, self._decimal), 0
        for record in records:
            if len(record.cells) != n_columns:
                raise ValueError(
                    f"{str(self.path)!r}: line {record.line} has {len(record.cells)} cells, "
                    f"but the first line names {n_columns} columns. Repair the line."
                )
            chunk.records.append(record)
            n_characters += record.length
            if len(chunk.records) == self._chunk_rows or n_characters >= _CHUNK_CHARACTERS:
                chunk.advance = raw.tell() - at
                yield chunk
                at = raw.tell()
                first = chunk.first + len(chunk.records)
                chunk = TextChunk(self.names, first, self._decimal)
                n_characters = 0
        if chunk.records:
            chunk.advance = raw.tell() - at
            yield chunk


def parse_whole_numbers(texts: LabelArray) -> LabelArray | None:
    """Integers, if all texts are such; None otherwise."""
    distinct, inverse = np.unique(texts, return_inverse=True)
    if not all(_WHOLE_NUMBER.fullmatch(text) for text in distinct.tolist()):
        return None
    return np.array([int(text.partition(".")[0]) for text in distinct.tolist()])[inverse]
