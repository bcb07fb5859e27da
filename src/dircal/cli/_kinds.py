"""What a file of predictions is, told by the ending of its name."""

from pathlib import Path

__all__ = ["DELIMITERS", "FORMATS", "kind_of"]

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
