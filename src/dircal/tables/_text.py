"""CSV and its relatives, read and written by pyarrow."""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dircal._table_files import DELIMITERS
from dircal._typing import FloatArray
from dircal.tables._limits import LIMITS
from dircal.tables._numbers import check_option

__all__ = ["TextFile", "TextRows", "require_pyarrow"]

_CANDIDATES = (",", ";", "\t", "|")
_QUOTED = re.compile('"[^"]*"')
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
# The csv module refuses cells beyond a limit of its own, which is global.
_ANY_LENGTH = 2**31 - 1


@dataclass(frozen=True)
class TextFile:
    """A text file with the names of the columns in its first record.

    ``delimiter`` and ``encoding`` are None if the file decides: the usual delimiter of its ending
    or another one that occurs in the header, and UTF-8.
    """

    path: Path
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n' or not self.delimiter.isascii()
        ):
            raise ValueError(
                "`delimiter` must be one character of ASCII, and not a quote or a line end; got "
                f"{self.delimiter!r}. Pass for example ';'."
            )
        check_option("decimal", self.decimal, (".", ","))
        try:
            "".encode(self._codec)
        except LookupError as error:
            raise ValueError(
                f"`encoding` {self.encoding!r} is not known. Pass a text encoding of Python, for "
                "example 'cp1252'."
            ) from error

    @cached_property
    def header(self) -> tuple[str, tuple[str, ...]]:
        """The delimiter, and the names of the columns."""
        with self._diagnosed(), self._open() as text:
            line = text.readline(LIMITS.record_bytes)
            if not line:
                raise ValueError(f"{str(self.path)!r} is empty. Pass a file with a line of names.")
            if "\0" in line:
                raise ValueError(
                    f"{str(self.path)!r} is not a text file. Pass CSV in UTF-8, or give the file "
                    "the ending of its type: .parquet, .npy or .npz."
                )
            usual = DELIMITERS[self.path.with_suffix("").suffix if self.is_gzip else self._ending]
            delimiter = self.delimiter or _find_delimiter(line, usual)
            text.seek(0)
            names = tuple(next(self._records(text, delimiter), (0, []))[1])
        for i, name in enumerate(names):
            if len(name) > LIMITS.text_length:
                raise ValueError(
                    f"{str(self.path)!r}: column {i} has a name of {len(name):,} characters; at "
                    f"most {LIMITS.text_length:,} are read. Check that the first line has the "
                    "names."
                )
        return delimiter, names

    def reject(self, where: str, options: Mapping[str, str]) -> None:
        """Raise if one of the ``options``, by their names, is passed for a table without text."""
        defaults = {"delimiter": None, "decimal": ".", "encoding": None}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                raise ValueError(
                    f"{options[name]} is {getattr(self, name)!r}, but {where} is not a text file. "
                    "Leave it out."
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.header[1]

    @property
    def is_gzip(self) -> bool:
        """Whether the file is compressed."""
        return self._ending == ".gz"

    @property
    def _ending(self) -> str:
        return self.path.suffix.lower()

    def read(self) -> "TextRows":
        """Read all rows, as text."""
        require_pyarrow("Text files need")
        import pyarrow as pa
        import pyarrow.csv as pc

        with self._diagnosed():
            try:
                with self._source() as file:
                    table = pc.read_csv(file, **self._options(LIMITS.record_bytes))
            except pa.ArrowInvalid as error:
                self._explain(error)
        return TextRows(self, table.combine_chunks(), 0)

    def batches(self) -> Iterator["TextRows"]:
        """Read the rows as text, a block at a time."""
        require_pyarrow("Text files need")
        import pyarrow as pa

        n_done = 0
        # pyarrow reads 32 blocks ahead: they are small unless a line is longer.
        for size in (LIMITS.block_bytes, LIMITS.record_bytes):
            try:
                for rows in self._blocks(size, n_done):
                    yield rows
                    n_done += len(rows)
            except pa.ArrowInvalid as error:
                if size == LIMITS.record_bytes or "straddling" not in str(error):
                    self._explain(error)
            else:
                return

    def _blocks(self, size: int, n_done: int) -> Iterator["TextRows"]:
        """Read blocks of ``size`` bytes, without the first ``n_done`` rows."""
        import pyarrow as pa
        import pyarrow.csv as pc

        first = 0
        with (
            self._diagnosed(),
            self._source() as file,
            pc.open_csv(file, **self._options(size)) as reader,
        ):
            for batch in reader:
                new = batch.slice(max(0, n_done - first))
                first += batch.num_rows
                if new.num_rows:
                    yield TextRows(self, pa.Table.from_batches([new]), first - new.num_rows)

    def line_of(self, row: int) -> int:
        """Return the number of the line on which a row begins, from one."""
        with self._open() as text:
            records = self._records(text, self.header[0])
            next(records)
            return next(line for i, (line, _) in enumerate(records) if i == row)

    def write(self, file: IO[bytes], columns: Sequence[Any]) -> None:
        """Write rows to a target: columns of text or numbers, as arrays of pyarrow."""
        import pyarrow as pa
        import pyarrow.compute as pc

        delimiter = self.header[0]
        cells = [_quoted(self._as_text(column), delimiter) for column in columns]
        lines = pc.binary_join_element_wise(*cells, delimiter)
        [text] = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")
        file.write(text.as_buffer())
        file.write(b"\n")

    def write_header(self, file: IO[bytes], names: Sequence[str]) -> None:
        """Write the names of columns to a target, after the byte-order mark of the old file."""
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self.header[0], lineterminator="\n").writerow(names)
        with self._bytes() as old:
            mark = old.read(4)
        marked = self._is_utf8 and mark.startswith(codecs.BOM_UTF8)
        file.write((codecs.BOM_UTF8 if marked else b"") + text.getvalue().encode())

    def _as_text(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_floating(column.type):
            return column
        text = column.cast(pa.string())
        return text if self.decimal == "." else pc.replace_substring(text, ".", self.decimal)

    @contextmanager
    def target(self, path: Path) -> Iterator[IO[bytes]]:
        """Open a file that takes UTF-8 and is encoded and compressed as this one."""
        with ExitStack() as stack:
            file: Any = stack.enter_context(path.open("xb"))
            if self.is_gzip:
                file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
            yield file if self._is_utf8 else codecs.EncodedFile(file, "utf-8", self._codec)

    @property
    def _codec(self) -> str:
        return codecs.lookup(self.encoding or "utf-8").name

    @property
    def _is_utf8(self) -> bool:
        return self._codec == "utf-8"

    def _source(self) -> Any:
        """Open the file for pyarrow."""
        import pyarrow as pa

        return pa.input_stream(str(self.path), "gzip" if self.is_gzip else None)

    def _options(self, block_bytes: int) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.csv as pc

        delimiter, names = self.header
        return {
            "read_options": pc.ReadOptions(
                # With threads, version 17 may wait forever after an error.
                use_threads=False,
                block_size=block_bytes,
                encoding=self._codec,
            ),
            "parse_options": pc.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            "convert_options": pc.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        }

    def _bytes(self) -> Any:
        return gzip.open(self.path) if self.is_gzip else self.path.open("rb")

    @contextmanager
    def _open(self) -> Iterator[io.TextIOWrapper]:
        codec = "utf-8-sig" if self._is_utf8 else self._codec
        with self._bytes() as file:
            yield io.TextIOWrapper(file, encoding=codec, newline="")

    def _records(self, text: Any, delimiter: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the first line and the cells of each record; empty lines are not records."""
        before = csv.field_size_limit(_ANY_LENGTH)
        try:
            reader, line = csv.reader(text, delimiter=delimiter, strict=True), 1
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise ValueError(
                    f"{str(self.path)!r}: the quote that opens on line {line} is never closed. "
                    "Close it, or double quotes inside a quoted cell."
                ) from error
            raise ValueError(
                f"{str(self.path)!r}: line {reader.line_num} cannot be read ({error}). Double "
                "quotes inside a quoted cell."
            ) from error
        finally:
            csv.field_size_limit(before)

    def _explain(self, error: Exception) -> NoReturn:
        """Raise an error that names the line that pyarrow could not read."""
        delimiter, names = self.header
        with self._open() as text:
            for line, cells in self._records(text, delimiter):
                if len(cells) == len(names) and sum(map(len, cells)) > LIMITS.record_bytes:
                    raise ValueError(
                        f"{str(self.path)!r}: line {line} has more than {LIMITS.record_bytes:,} "
                        "characters. Check its quotes, or shorten it."
                    ) from error
                if len(cells) != len(names):
                    raise ValueError(
                        f"{str(self.path)!r}: line {line} has {len(cells)} cells, but the first "
                        f"line names {len(names)} columns. Repair the line."
                    ) from error
        reason = str(error).partition("\n")[0][:200]
        raise ValueError(
            f"{str(self.path)!r} cannot be read as a table ({reason}). Check that it is the right "
            "file."
        ) from error

    @contextmanager
    def _diagnosed(self) -> Iterator[None]:
        """Turn the errors of damaged files into a ValueError that names the file."""
        try:
            yield
        except UnicodeError as error:
            what, guess = str(error), "cp1252"
            if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
                byte = error.object[error.start]
                what = f"byte 0x{byte:02x}"
                # The mark at the beginning of UTF-16.
                guess = "utf-16" if error.start == 0 and byte in (0xFE, 0xFF) else guess
            raise ValueError(
                f"{str(self.path)!r} is not text in {self._codec.upper()} ({what}). "
                f"Save it as UTF-8, or pass its encoding: --encoding {guess} or encoding={guess!r}."
            ) from error
        except (OSError, EOFError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValueError(
                f"{str(self.path)!r} is damaged or cut off ({error}). Write or copy it again."
            ) from error


@dataclass(frozen=True)
class TextRows:
    """Rows of a text file, the first of which has the number ``first``."""

    file: TextFile
    cells: Any
    first: int

    def __len__(self) -> int:
        return int(self.cells.num_rows)

    def place(self, row: int) -> str:
        """Name a row by its line."""
        return f"line {self.file.line_of(self.first + row)}"

    def column(self, name: str) -> Any:
        """Return the text of a column, as an array of pyarrow."""
        chunks = self.cells.column(name)
        return chunks.combine_chunks() if chunks.num_chunks != 1 else chunks.chunk(0)

    def numbers(self, names: Sequence[str]) -> FloatArray:
        """Return numbers (m, c), or raise a ValueError that names the cell without one."""
        values = np.empty((len(self), len(names)))
        for j, name in enumerate(names):
            values[:, j] = self._numbers(name)
        return values

    def _numbers(self, name: str) -> FloatArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        cells, decimal = self.column(name), self.file.decimal
        try:
            if decimal == ".":
                return np.asarray(cells.cast(pa.float64()))
            if not pc.any(pc.match_substring(cells, ".")).as_py():
                return np.asarray(pc.replace_substring(cells, decimal, ".").cast(pa.float64()))
        except pa.ArrowInvalid:
            pass
        # Whitespace, signs and other forms that Python reads, or a cell that is not a number.
        texts = cells.to_pylist()
        return np.array([self._number(i, name, text) for i, text in enumerate(texts)])

    def _number(self, row: int, name: str, text: str) -> float:
        cell, decimal = text.strip(), self.file.decimal
        try:
            # Python reads 1_000 as a number, and no other program does. Before a decimal comma, a
            # point would be a thousands separator.
            if "_" in cell or (decimal != "." and "." in cell):
                raise ValueError
            return float(cell.replace(decimal, "."))
        except ValueError:
            what = f"holds {cell[:40]!r}, which is not a number" if cell else "is empty"
            fix = "Repair the row, or leave it out."
            if decimal == "." and _DECIMAL_COMMA.fullmatch(cell):
                fix = "Pass a decimal comma: --decimal , or decimal=','."
            raise ValueError(f"{self.place(row)}, column {name!r} {what}. {fix}") from None

    def texts(self, name: str) -> npt.NDArray[Any]:
        """Return the text of a column; a value that occurs often is one object."""
        encoded = self.column(name).dictionary_encode()
        words = np.array(encoded.dictionary.to_pylist(), dtype=object)
        return words[np.asarray(encoded.indices)] if len(words) else np.empty(len(self), object)


def require_pyarrow(what: str) -> None:
    """Raise an error that names the extra if pyarrow is not installed."""
    if find_spec("pyarrow") is None:
        raise ModuleNotFoundError(
            f"{what} pyarrow, which is not installed. Install the extra: pip install 'dircal[cli]'"
        )


def _find_delimiter(line: str, usual: str) -> str:
    """Return the usual delimiter, or the most frequent other one if it does not occur."""
    bare = _QUOTED.sub("", line)
    counts = {one: bare.count(one) for one in (usual, *_CANDIDATES)}
    return usual if counts[usual] else max(counts, key=counts.__getitem__)


def _quoted(cells: Any, delimiter: str) -> Any:
    """Quote the cells that need it."""
    import pyarrow.compute as pc

    special = pc.match_substring_regex(cells, f'[{re.escape(delimiter)}"\r\n]')
    if not pc.any(special).as_py():
        return cells
    doubled = pc.binary_join_element_wise('"', pc.replace_substring(cells, '"', '""'), '"', "")
    return pc.if_else(special, doubled, cells)
