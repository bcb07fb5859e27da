"""What a file of predictions is, told by the ending of its name."""

from pathlib import Path

__all__ = ["DELIMITERS", "FORMATS", "input_kind", "kind_of", "names_many_files"]

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""What separates the cells of a text file unless something else is said or found."""
_OTHERS = (".parquet", ".pq", ".npy", ".npz")
FORMATS = ("csv", "tsv", "csv.gz", "tsv.gz", "parquet", "npy", "npz")
"""What standard input can be, by the ending that a file of it would have."""


def kind_of(path: Path) -> str:
    """The ending that says what a file is, with that of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".gz"] and endings[-2:-1] and endings[-2] in DELIMITERS:
        return "".join(endings[-2:])
    if endings and (endings[-1] in DELIMITERS or endings[-1] in _OTHERS):
        return ".parquet" if endings[-1] == ".pq" else endings[-1]
    known = ", ".join([*DELIMITERS, ".csv.gz", *_OTHERS])
    raise ValueError(
        f"{str(path)!r} does not say by its ending what it is. Files of predictions end in {known}."
    )


def names_many_files(path: Path) -> bool:
    """Whether a path is a folder of Parquet files, or a pattern that no file is called after."""
    if path.is_dir():
        # One that is called after another kind of file is a mistake.
        return path.suffix.lower() not in (*DELIMITERS, ".gz", ".npy", ".npz")
    return any(sign in str(path) for sign in "*?[") and not path.exists()


def input_kind(path: Path) -> str:
    """The same as `kind_of` for what is read: many files are Parquet."""
    return ".parquet" if names_many_files(path) else kind_of(path)
