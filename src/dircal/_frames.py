"""Tables of results, as data frames where a library for them is installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["to_frame"]

# The first that is installed.
_LIBRARIES = ("pandas", "polars")


def to_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A data frame of pandas, or of polars where only that is installed; else a dict of lists."""
    for library in _LIBRARIES:
        if find_spec(library) is not None:
            return import_module(library).DataFrame({**columns})
    return {name: list(column) for name, column in columns.items()}
