"""Rows of a text file: their cells as they stand there, and the numbers and labels in them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray, LabelArray
from dircal.cli.tables._base import LONGEST_TEXT, AbstractChunk, Columns, label_too_long
from dircal.cli.tables._dialect import plain_number
from dircal.cli.tables._records import Record

__all__ = ["LaterChunk", "TextChunk", "content"]

_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")


@dataclass
class TextChunk(AbstractChunk):
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
        cell = content(self.records[row].cells[columns[j]]).strip()
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
        texts = [content(record.cells[column]) for record in self.records]
        if "" in texts:
            raise ValueError(
                f"{self.place(texts.index(''))}, column {self.names[column]!r} is empty. "
                "Repair the row, or leave it out."
            )
        longest = max(map(len, texts), default=0)
        if longest > LONGEST_TEXT:
            row = next(i for i, text in enumerate(texts) if len(text) == longest)
            raise label_too_long(f"{self.place(row)}, column {self.names[column]!r}", longest)
        return np.array(texts)

    def is_empty(self, column: int) -> npt.NDArray[np.bool_]:
        return np.array([not content(record.cells[column]).strip() for record in self.records])

    def take(self, rows: npt.NDArray[np.bool_]) -> "TextChunk":
        kept = [record for record, keep in zip(self.records, rows, strict=True) if keep]
        return replace(self, records=kept)


class LaterChunk(AbstractChunk):
    """A chunk whose records are read when they are asked for, as where something is wrong."""

    def __init__(self, read: Callable[[], TextChunk | None], first: int, n_rows: int) -> None:
        self._read = read
        self._n_rows = n_rows
        self.first = first
        self.advance = 0

    @cached_property
    def _chunk(self) -> TextChunk:
        chunk = self._read()
        # There were rows a moment ago.
        assert chunk is not None
        return chunk

    @property
    def n_rows(self) -> int:
        return self._n_rows

    def place(self, row: int) -> str:
        return self._chunk.place(row)

    def numbers(self, columns: Columns) -> FloatArray:
        return self._chunk.numbers(columns)

    def values(self, column: int) -> LabelArray:
        return self._chunk.values(column)

    def is_empty(self, column: int) -> npt.NDArray[np.bool_]:
        return self._chunk.is_empty(column)

    def take(self, rows: npt.NDArray[np.bool_]) -> TextChunk:
        return self._chunk.take(rows)


def content(cell: str) -> str:
    """What a cell says, without its quotes."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell
