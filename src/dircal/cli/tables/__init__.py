"""Files of predictions: the one place that reads them and writes them anew."""

from importlib.util import find_spec
from pathlib import Path

from dircal.cli._kinds import DELIMITERS, input_kind, names_many_files
from dircal.cli.tables._base import AbstractChunk, AbstractTable, Change

__all__ = ["AbstractChunk", "AbstractTable", "Change", "open_table"]


def open_table(
    path: Path,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    array: str | None = None,
) -> AbstractTable:
    """Open a file of predictions by the ending of its name; folders and patterns are Parquet.

    ``delimiter`` is for text where the first line does not tell, ``decimal`` what stands before
    decimals there, and ``encoding`` that of its characters where they are not UTF-8; ``array`` is
    for an NPZ file with several arrays of scores.
    """
    kind, many = input_kind(path), names_many_files(path)
    if path.exists() and not many and not path.is_file():
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
        if many:
            from dircal.cli.tables._parquet_folder import ParquetFolder

            return ParquetFolder(path)
        from dircal.cli.tables._parquet import ParquetTable

        return ParquetTable(path)
    from dircal.cli.tables._text import TextTable

    usual = DELIMITERS[kind.removesuffix(".gz")]
    return TextTable(path, usual, delimiter=delimiter, decimal=decimal, encoding=encoding)
