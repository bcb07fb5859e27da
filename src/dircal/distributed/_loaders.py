"""Where the parts of a table come from: frames in memory, row groups of Parquet, Dask's own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import narwhals.stable.v2 as nw

__all__ = [
    "DelayedPart",
    "FramePart",
    "Loader",
    "RowGroup",
    "frame_parts",
    "parquet_files",
    "row_groups",
]

_ENDINGS = (".parquet", ".pq")
_MAGIC = "*?["


class Loader(Protocol):
    """Loads a part when it is called; can be sent to another process."""

    def __call__(self, columns: Sequence[str]) -> Any:
        """These columns of the part, as a data frame."""

    @property
    def place(self) -> Callable[[int], str]:
        """How people find a row of the part, by its number there."""

    @property
    def name(self) -> str:
        """How people find the part."""


@dataclass(frozen=True)
class FramePart:
    """A data frame in memory."""

    frame: Any
    number: int

    @property
    def name(self) -> str:
        """By its number."""
        return f"part {self.number}"

    def __call__(self, columns: Sequence[str]) -> Any:
        """The frame."""
        table = nw.from_native(self.frame, eager_only=True)
        _refuse_lacking(columns, table.columns, self.name)
        return table.select(*columns).to_native()

    @property
    def place(self) -> Callable[[int], str]:
        """By its number, from zero."""
        return partial(_place, 0, self.name)


@dataclass(frozen=True)
class DelayedPart:
    """A partition of Dask, where there is no cluster to compute it; None where there is one."""

    delayed: Any
    number: int

    @property
    def name(self) -> str:
        """By its number."""
        return f"partition {self.number}"

    def __call__(self, columns: Sequence[str]) -> Any:
        """What Dask computes in this thread."""
        return self.delayed.compute(scheduler="synchronous")[list(columns)]

    @property
    def place(self) -> Callable[[int], str]:
        """By its number, from zero."""
        return partial(_place, 0, self.name)


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file, which begins at row ``first`` of the file."""

    path: str
    group: int
    first: int

    @property
    def name(self) -> str:
        """By the file."""
        return f"{self.path!r}, row group {self.group}"

    def __call__(self, columns: Sequence[str]) -> Any:
        """Read now."""
        import pyarrow.parquet as pq

        with _naming(self.path), pq.ParquetFile(self.path, memory_map=True) as file:
            _refuse_lacking(columns, file.schema_arrow.names, repr(self.path))
            return file.read_row_group(self.group, columns=list(columns), use_threads=False)

    @property
    def place(self) -> Callable[[int], str]:
        """By its number in the file, from zero."""
        return partial(_place, self.first, repr(self.path))


def _refuse_lacking(columns: Sequence[str], names: Sequence[str], where: str) -> None:
    """Raise where a part lacks a column that the first one has."""
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(
            f"{where} has no column called {missing[0]!r}. Its columns: "
            f"{', '.join(map(repr, names[:12]))}."
        )


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors of pyarrow about what is in a file, with its name."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError | MemoryError):
            raise
        raise ValueError(
            f"{path!r} cannot be read as Parquet ({str(error).partition(chr(10))[0][:200]}). "
            "Check that it is the right file, and whole."
        ) from error


def _place(first: int, where: str, row: int) -> str:
    return f"row {first + row} of {where}"


def frame_parts(frames: Sequence[Any]) -> list[FramePart]:
    """Data frames in memory, as parts of one table."""
    return [FramePart(frame, i) for i, frame in enumerate(frames)]


def parquet_files(path: str | Path) -> list[str]:
    """Files that a path names: one, those of a folder and its folders, or those of a pattern."""
    text = str(path)
    if Path(text).is_dir():
        inside = (one for one in Path(text).rglob("*") if one.suffix.lower() in _ENDINGS)
        found = sorted(str(one) for one in inside if one.is_file())
    elif any(sign in text for sign in _MAGIC) and not Path(text).exists():
        anchor = Path(text).anchor
        matching = Path(anchor or ".").glob(text.removeprefix(anchor))
        found = sorted(str(one) for one in matching if one.is_file())
    else:
        return [text]
    if not found:
        raise FileNotFoundError(f"{text!r} names no Parquet file. Check the folder or the pattern.")
    return found


def row_groups(files: Sequence[str]) -> tuple[list[RowGroup], list[str]]:
    """The row groups of Parquet files, and the names of the columns of the first."""
    if find_spec("pyarrow") is None:
        raise ModuleNotFoundError(
            "Parquet files need pyarrow, which is not installed. Install the extra: "
            "pip install 'dircal[parquet]'"
        )
    import pyarrow.parquet as pq

    groups: list[RowGroup] = []
    names: list[str] = []
    for path in files:
        with _naming(path):
            metadata, schema = pq.read_metadata(path), pq.read_schema(path)
        names = names or list(schema.names)
        first = 0
        for i in range(metadata.num_row_groups):
            groups.append(RowGroup(path, i, first))
            first += metadata.row_group(i).num_rows
    return groups, names
