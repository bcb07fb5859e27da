"""Files of predictions: the one place that reads them and writes them anew."""

from importlib.util import find_spec
from pathlib import Path

from dircal.cli.tables._base import AbstractChunk, AbstractTable, Change

__all__ = ["AbstractChunk", "AbstractTable", "Change", "kind_of", "open_table"]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_OTHERS = (".parquet", ".pq", ".npy", ".npz")


def kind_of(path: Path) -> str:
    """The ending that says what a file is, with that of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".gz"] and endings[-2:-1] and endings[-2] in _DELIMITERS:
        return "".join(endings[-2:])
    if endings and (endings[-1] in _DELIMITERS or endings[-1] in _OTHERS):
        return ".parquet" if endings[-1] == ".pq" else endings[-1]
    known = ", ".join([*_DELIMITERS, ".csv.gz", *_OTHERS])
    raise ValueError(
        f"{str(path)!r} does not say by its ending what it is. Files of predictions end in {known}."
    )


def open_table(
    path: Path, *, delimiter: str | None = None, array: str | None = None
) -> AbstractTable:
    """Open a file of predictions by the ending of its name.

    ``delimiter`` is for text where it is not that of the ending, ``array`` for an NPZ file with
    several arrays of scores.
    """
    kind = kind_of(path)
    if path.exists() and not path.is_file():
        raise OSError(f"{str(path)!r} is not a file, but a folder, a pipe or a device.")
    if kind in (".npy", ".npz"):
        from dircal.cli.tables._arrays import ArrayTable

        return ArrayTable(path, array)
    if kind == ".parquet":
        if find_spec("pyarrow") is None:
            raise ModuleNotFoundError(
                "Parquet files need pyarrow, which is not installed. Install the extra: "
                "pip install 'dircal[parquet]'"
            )
        from dircal.cli.tables._parquet import ParquetTable

        return ParquetTable(path)
    from dircal.cli.tables._text import TextTable

    return TextTable(path, delimiter or _DELIMITERS[kind.removesuffix(".gz")])
