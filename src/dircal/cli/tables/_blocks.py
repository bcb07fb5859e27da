"""Text tables in blocks of bytes: rows that are plain in form are found and written by pyarrow.

What is not, is for the reader of records, which knows more and says what is wrong.
"""

from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dircal._typing import FloatArray
from dircal.cli.tables._base import Columns
from dircal.cli.tables._numerals import numerals

__all__ = ["Block", "BlockReader"]

_LINE_FEED, _RETURN, _QUOTE = b'\n\r"'
# To begin with; then as much as the block before took, and a little more.
_FIRST_BYTES = 2**16

_Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Block:
    """Whole rows, as bytes.

    ``starts`` and ``ends`` are those of all cells, (rows, columns).
    """

    data: bytes
    delimiter: str
    starts: _Places
    ends: _Places

    @property
    def n_rows(self) -> int:
        """Number of the rows."""
        return len(self.starts)

    def numbers(self, columns: Columns) -> FloatArray | None:
        """Numbers (m, c) of these columns; None where a cell is anything but a finite number."""
        order = np.sort(columns)
        cells = self._pieces(self.starts[:, order], self.ends[:, order])
        try:
            values = cells.take(self._slots(len(order))).cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            return None
        if not np.isfinite(values).all():
            return None
        by_place: FloatArray = values.reshape(self.n_rows, -1)
        return by_place.take(np.searchsorted(order, columns), axis=1)

    def replaced(self, columns: Columns, values: FloatArray) -> Any:
        """The bytes of the rows with other numbers (m, c) in these columns."""
        order = np.argsort(columns)
        places = np.asarray(columns)[order]
        pieces = self._pieces(self.starts[:, places], self.ends[:, places])
        return self._filled(pieces, numerals(values[:, order].ravel()), len(order))

    def extended(self, values: FloatArray) -> Any:
        """The bytes of the rows with numbers (m, c) behind all columns."""
        n_columns = values.shape[1]
        behind = np.repeat(self.ends[:, -1:], n_columns, axis=1)
        texts = pc.binary_join_element_wise(self.delimiter, numerals(values.ravel()), "")
        return self._filled(self._pieces(behind, behind), texts, n_columns)

    def _pieces(self, starts: _Places, ends: _Places) -> Any:
        """The rows cut into what stays and slots, in turns: c slots and c + 1 others in a row."""
        cuts = np.empty((self.n_rows, 2 * starts.shape[1] + 1), np.int32)
        cuts[:, 0] = self.starts[:, 0]
        cuts[:, 1::2], cuts[:, 2::2] = starts, ends
        offsets = np.append(cuts, np.int32(len(self.data)))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.utf8(), cuts.size, buffers)

    def _slots(self, n_slots: int) -> _Places:
        pieces = np.arange(self.n_rows * (2 * n_slots + 1)).reshape(self.n_rows, -1)
        return pieces[:, 1::2].ravel()

    def _filled(self, pieces: Any, texts: Any, n_slots: int) -> Any:
        """The bytes of the pieces, with the texts in the slots."""
        order = np.arange(len(pieces))
        order[self._slots(n_slots)] = len(pieces) + np.arange(len(texts))
        # Texts stand one behind the other in an array: this is the file.
        return pa.concat_arrays([pieces, texts]).take(order).buffers()[2]


class BlockReader:
    """Reads blocks of ``n_rows`` rows, or of all that are left, from a file in UTF-8."""

    def __init__(
        self, file: IO[bytes], delimiter: str, *, n_columns: int, n_rows: int, most_bytes: int
    ) -> None:
        self._file = file
        self._delimiter = delimiter
        self._n_columns = n_columns
        self._n_marks = n_rows * n_columns
        self._most_bytes = most_bytes
        self._n_bytes = min(_FIRST_BYTES, most_bytes)

    def block_at(self, start: int) -> Block | None:
        """Rows from where one begins; None where there are none, or not plain in form."""
        while True:
            self._file.seek(start)
            data = self._file.read(self._n_bytes)
            is_rest = len(data) < self._n_bytes
            marks = self._marks(data, is_rest)
            if marks is None or (is_rest and len(marks) == 0):
                return None
            # One byte more tells whether an empty line follows.
            is_full = len(marks) >= self._n_marks and marks[self._n_marks - 1] + 1 < len(data)
            if is_full or is_rest:
                break
            if self._n_bytes == self._most_bytes:
                return None
            self._n_bytes = min(2 * self._n_bytes, self._most_bytes)
        marks = marks[: self._n_marks]
        end = min(int(marks[-1]) + 1, len(data))
        if is_full:
            self._n_bytes = min(end + end // 16 + 1, self._most_bytes)
        elif end < len(data):
            return None
        return None if data[end : end + 1] in (b"\r", b"\n") else self._block(data[:end], marks)

    def _marks(self, data: bytes, is_rest: bool) -> _Places | None:
        """Where cells end, outside of quotes; None where quotes are not around whole cells."""
        codes = np.frombuffer(data, np.uint8)
        delimiter = ord(self._delimiter)
        marks: _Places = np.flatnonzero((codes == delimiter) | (codes == _LINE_FEED))
        if is_rest and data and not data.endswith(b"\n"):
            marks = np.append(marks, len(data))
        if b'"' not in data:
            return marks
        quotes = np.flatnonzero(codes == _QUOTE)
        # A doubled quote closes the cell and opens it again.
        opening, closing = quotes[::2], quotes[1::2]
        before = codes[opening[opening > 0] - 1]
        after = codes[closing[closing < len(data) - 1] + 1]
        around = (delimiter, _LINE_FEED, _QUOTE)
        if not (np.isin(before, around).all() and np.isin(after, (*around, _RETURN)).all()):
            return None
        is_outside: npt.NDArray[np.bool_] = np.searchsorted(quotes, marks) % 2 == 0
        return marks[is_outside]

    def _block(self, data: bytes, marks: _Places) -> Block | None:
        has_returns = b"\r" in data
        if has_returns and data.count(b"\r") != data.count(b"\r\n"):
            return None
        if len(marks) % self._n_columns:
            return None
        codes = np.frombuffer(data, np.uint8)
        ends = marks.reshape(-1, self._n_columns).copy()
        is_line_end = (codes[np.minimum(ends, len(data) - 1)] == _LINE_FEED) | (ends == len(data))
        if not is_line_end[:, -1].all() or is_line_end[:, :-1].any():
            return None
        starts = np.append(0, marks[:-1] + 1).reshape(ends.shape)
        if has_returns:
            ends[:, -1] -= codes[ends[:, -1] - 1] == _RETURN
        if (ends[:, -1] <= starts[:, 0]).any():
            return None
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
        return Block(data, self._delimiter, starts, ends)
