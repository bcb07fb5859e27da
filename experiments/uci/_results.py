"""The committed tables: plain text, the rows of each dataset compressed."""

from dataclasses import dataclass

import pandas as pd

from experiments._shared.tables import AbstractTables

from ._grid import Cell

__all__ = ["CELL_COLUMNS", "Results"]

CELL_COLUMNS = list(Cell._fields)


@dataclass(frozen=True)
class Results(AbstractTables):
    """A folder with ``rows/<dataset>.csv.gz`` and the tables that are made from them."""

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
