"""Many Parquet files as one table, one after another."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from dircal.cli.tables._base import AbstractChunk, AbstractTable, Change, Columns
from dircal.cli.tables._parquet import Batch, ParquetTable
from dircal.distributed import parquet_files

__all__ = ["ParquetFolder"]


class ParquetFolder(AbstractTable):
    """Parquet files of a folder, or of a pattern, with the same columns."""

    unit = "rows"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = [Path(one) for one in parquet_files(path)]
        self.size = 0
        for file in self._files:
            with ParquetTable(file) as table:
                if self.size == 0:
                    self.names = table.names
                elif set(table.names) != set(self.names):
                    odd = sorted(set(table.names) ^ set(self.names))
                    raise ValueError(
                        f"{str(file)!r} has other columns than {str(self._files[0])!r}: {odd[0]!r} "
                        "is in one of them only. Name files of one table."
                    )
                self.size += table.size

    def chunks(self, columns: Columns) -> Iterator[AbstractChunk]:
        first = 0
        with ExitStack() as stack:
            for file in self._files:
                table = stack.enter_context(ParquetTable(file))
                # Columns may stand in another order there.
                there = [table.names.index(self.names[column]) for column in columns]
                for chunk in table.chunks(there):
                    assert isinstance(chunk, Batch)
                    yield replace(chunk, names=self.names, first=first + chunk.first)
                first += table.size
                stack.pop_all().close()

    def rewrite(self, target: Path, change: Change) -> None:
        del target, change
        raise ValueError(
            f"{str(self.path)!r} names many files, and this command writes one. Name one at a "
            "time, or use dircal.distributed.apply."
        )

    def __exit__(self, *_: Any) -> None:
        """Files are closed as soon as they are read."""
