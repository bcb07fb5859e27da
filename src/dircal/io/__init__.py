"""Files that last: calibrators as text."""

from dircal.io._file import from_bytes, load, save, to_bytes

__all__ = ["from_bytes", "load", "save", "to_bytes"]
