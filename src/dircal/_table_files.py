"""Files of a table, by their paths and endings.

Nothing is read or imported that takes long: the command line checks its arguments here.
"""

from pathlib import Path

__all__ = ["DELIMITERS", "file_kind", "files_of", "is_pattern"]

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""Delimiters by the ending of the file, unless another is passed or found in the header."""
_PARQUET = (".parquet", ".pq")
_ARRAYS = (".npy", ".npz")
_WILD = "*?["


def is_pattern(path: Path) -> bool:
    """Whether a path has wildcards, and no file is called so."""
    return any(sign in str(path) for sign in _WILD) and not path.exists()


def file_kind(path: Path) -> str:
    """Return the ending that tells the type of a file, with that of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".gz"] and endings[-2:-1] and endings[-2] in DELIMITERS:
        return "".join(endings[-2:])
    if endings and endings[-1] in (*DELIMITERS, *_PARQUET, *_ARRAYS):
        return ".parquet" if endings[-1] == ".pq" else endings[-1]
    known = ", ".join([*DELIMITERS, ".csv.gz", *_PARQUET, *_ARRAYS])
    raise ValueError(
        f"{str(path)!r} has no ending of a known type. Files of predictions end in {known}."
    )


def files_of(path: Path) -> list[Path]:
    """Return the files that a path names: one, those of a folder, or those of a pattern."""
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if one.is_file() and _is_table(one))
    elif is_pattern(path):
        anchor = path.anchor
        matches = Path(anchor or ".").glob(str(path).removeprefix(anchor))
        found = sorted(one for one in matches if one.is_file())
    else:
        if path.exists() and not path.is_file():
            raise OSError(f"{str(path)!r} is not a file, but a pipe or a device.")
        return [path]
    kinds = sorted({file_kind(one) for one in found})
    if not found or len(kinds) > 1 or kinds[0] in _ARRAYS:
        what = "no files of predictions" if not found else f"files of the types {', '.join(kinds)}"
        raise (ValueError if found else FileNotFoundError)(
            f"{str(path)!r} contains {what}. Pass a folder or a pattern of CSV or Parquet files of "
            "one table."
        )
    return found


def _is_table(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith((*_PARQUET, *DELIMITERS, *(f"{one}.gz" for one in DELIMITERS)))
