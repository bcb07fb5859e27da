"""Where the predictions are, and mistakes that show before anything slow is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dircal.cli._kinds import input_kind, names_many_files
from dircal.cli._nearest import did_you_mean

if TYPE_CHECKING:
    from dircal._typing import AnyFloatArray, InputScale
    from dircal.cli.tables import AbstractChunk, AbstractTable

__all__ = [
    "PredictionsFile",
    "check_exists",
    "check_source",
    "column_called",
    "input_files",
    "items_of",
    "list_names",
    "list_of_columns",
    "numbers_of",
    "open_file",
    "reject_empty",
]


@dataclass(frozen=True)
class PredictionsFile:
    """Where the predictions are, in the words of the command line.

    ``unlabelled`` is "skip" to leave out rows without a label, "refuse" to reject them, and None in
    commands without --skip-unlabelled, which reject them too. There is either a ``label`` or, with
    a column for each class, ``label_columns``.
    """

    path: Path
    columns: str | None = None
    classes: str | None = None
    scale: "InputScale" = "probability"
    label: str = ""
    weights: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    unlabelled: str | None = None
    name: str = ""
    label_columns: str | None = None

    @property
    def shown(self) -> str:
        """What people call it."""
        return self.name or str(self.path)

    @property
    def names_array(self) -> bool:
        """Whether ``columns`` is the name of an array."""
        return self.path.suffix.lower() == ".npz"


def input_files(path: Path, *labels: str | None) -> list[Path]:
    """List the files behind a path to predictions, and those of labels in NPY files."""
    beside = [Path(one) for one in labels if one is not None and one.endswith(".npy")]
    if not names_many_files(path):
        return [path, *beside]
    from dircal.distributed import parquet_files

    return [*map(Path, parquet_files(path)), *beside]


def open_file(source: PredictionsFile) -> "AbstractTable":
    """The file of predictions, opened."""
    from dircal.cli.tables import open_table

    return open_table(
        source.path,
        delimiter=source.delimiter,
        decimal=source.decimal,
        encoding=source.encoding,
        array=source.columns if source.names_array else None,
    )


def check_source(source: PredictionsFile) -> None:
    """Open the file and look for the columns that the options name: what fails, fails at once."""
    if not names_many_files(source.path):
        check_exists(source.path)
    input_kind(source.path)
    with open_file(source) as table:
        beside = table.score_columns is not None and source.label.endswith(".npy")
        if source.label and not beside:
            column_called(table, source.label, "--label")
        if source.weights is not None:
            column_called(table, source.weights, "--weights")
        if source.label_columns is not None and table.score_columns is None:
            for name in items_of(source.label_columns) if "*" not in source.label_columns else ():
                column_called(table, name, "--label-columns")
        if source.columns is not None and table.score_columns is None and "*" not in source.columns:
            for name in items_of(source.columns):
                column_called(table, name, "--columns")


def numbers_of(table: "AbstractTable", columns: Sequence[int]) -> "AnyFloatArray":
    """All numbers (n, c) of some columns."""
    import numpy as np

    parts = [chunk.numbers(columns) for chunk in table.chunks(columns)]
    if not parts:
        raise ValueError(f"{str(table.path)!r} has no rows. Pass predictions.")
    return np.concatenate(parts)


def reject_empty(chunk: "AbstractChunk", column: int, name: str, where: str, fix: str) -> None:
    """Raise if a cell of a column is empty, with its place and what to do."""
    empty = chunk.is_empty(column)
    if empty.any():
        place = chunk.place(int(empty.argmax()))
        raise ValueError(f"{where}: {place}, column {name!r} is empty. {fix}")


def check_exists(path: Path) -> None:
    """Refuse the name of a file that is not there, and say which one nearly is."""
    if not path.exists():
        near = did_you_mean(path.name, _siblings(path))
        raise FileNotFoundError(
            f"No such file or directory: {str(path)!r}.{near} Nothing was written."
        )


def _siblings(path: Path) -> list[str]:
    try:
        return [one.name for one in path.parent.iterdir()]
    except OSError:
        return []


def column_called(table: "AbstractTable", name: str, option: str) -> int:
    """Position of the one column of this name."""
    found = [i for i, one in enumerate(table.names) if one == name]
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} columns" if found else "no column"
    near = "" if found else did_you_mean(name, table.names)
    raise ValueError(
        f"{option}: {str(table.path)!r} has {problem} called {name!r}.{near} "
        f"{list_of_columns(table)}"
    )


def items_of(text: str) -> list[str]:
    """A list as people type it; commas inside an item are quoted as in CSV."""
    import csv

    try:
        [items] = csv.reader([text])
    except (csv.Error, ValueError):
        raise ValueError(
            f"{text!r:.80} is not a list with commas. Quote the items that hold line breaks, or "
            "leave these out."
        ) from None
    return items


def list_of_columns(table: "AbstractTable") -> str:
    """A sentence that names the columns of a file; where there is one, what may be wrong."""
    text = f"Its columns: {list_names(table.names)}."
    return text if len(table.names) > 1 else f"{text} Say what separates them: --delimiter."


def list_names(names: Sequence[str]) -> str:
    """The first names of many."""
    shown = [repr(name[:60]) for name in names[:12]]
    return ", ".join([*shown, "..."] if len(names) > 12 else shown)
