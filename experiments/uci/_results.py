"""The committed tables: plain text, the rows of each dataset compressed."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ._files import write_whole
from ._grid import Cell

__all__ = ["CELL_COLUMNS", "Results"]

CELL_COLUMNS = list(Cell._fields)
_TEXT = ("chosen", "versions", "method", "reason", "curve")


@dataclass(frozen=True)
class Results:
    """A folder with ``rows/<dataset>.csv.gz`` and the tables that are made from them."""

    folder: Path

    def read(self, name: str) -> pd.DataFrame:
        """A table, without lines if it is not there yet."""
        path = self.folder / name
        if not path.exists():
            return pd.DataFrame()
        # An empty reason or choice stays an empty text.
        return pd.read_csv(path, dtype=dict.fromkeys(_TEXT, str), keep_default_na=False)

    def write(self, name: str, table: pd.DataFrame) -> None:
        """Write a table, compressed where its name says so."""
        content = table.to_csv(index=False, lineterminator="\n").encode()
        if name.endswith(".gz"):
            # Without a time stamp the same rows make the same file.
            content = gzip.compress(content, mtime=0)
        write_whole(self.folder / name, content)

    def add(self, name: str, lines: list[list[Any]], columns: list[str], key: list[str]) -> None:
        """Add lines to a table; they take the place of those with the same key."""
        if not lines:
            return
        new = pd.DataFrame(lines, columns=columns)
        old = self.read(name)
        both = pd.concat([old, new], ignore_index=True) if len(old) else new
        both = both.drop_duplicates(key, keep="last").sort_values(key, kind="stable")
        self.write(name, both)

    def rows(self, dataset: str) -> pd.DataFrame:
        """One line for each cell, method and measure of a dataset."""
        return self.read(rows_name(dataset))

    def all_rows(self) -> pd.DataFrame:
        """The rows of all datasets."""
        found = sorted(self.folder.glob(rows_name("*")))
        parts = [self.read(str(path.relative_to(self.folder))) for path in found]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def done(self, dataset: str) -> set[tuple[Cell, str]]:
        """Cells and methods that have their rows."""
        rows = self.rows(dataset)
        if rows.empty:
            return set()
        keys = rows[[*CELL_COLUMNS, "method"]].drop_duplicates()
        return {(Cell(*line[:4]), line[4]) for line in keys.itertuples(index=False, name=None)}

    def failed(self) -> set[Cell]:
        """Cells whose classifier could not be trained."""
        lines = self.read("failures.csv")
        if lines.empty:
            return set()
        lines = lines[lines["method"] == ""][CELL_COLUMNS]
        return {Cell(*line) for line in lines.itertuples(index=False, name=None)}


def rows_name(dataset: str) -> str:
    """Where the rows of a dataset are."""
    return f"rows/{dataset}.csv.gz"
