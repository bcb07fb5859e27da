"""Committed tables: plain text, compressed where there are many rows."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .files import write_whole

__all__ = ["AbstractTables"]

_TEXT = ("network", "source", "sha256", "chosen", "versions", "method", "reason", "curve")


@dataclass(frozen=True)
class AbstractTables:
    """A folder of tables; each experiment says what its rows are."""

    folder: Path

    def read(self, name: str) -> pd.DataFrame:
        """A table, without lines if it is not there yet."""
        path = self.folder / name
        if not path.exists():
            return pd.DataFrame()
        # An empty reason or choice stays an empty text, and a network called 1 a name.
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
