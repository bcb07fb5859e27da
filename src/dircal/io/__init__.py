"""Files of calibrators: JSON that is checked when it is read and never runs anything."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dircal.io._file import from_bytes, load, save, to_bytes
    from dircal.io._map_file import load_map

__all__ = ["from_bytes", "load", "load_map", "save", "to_bytes"]


def __getattr__(name: str) -> Any:
    # `load_map` needs NumPy alone, the others every estimator.
    if name in __all__:
        module = "_map_file" if name == "load_map" else "_file"
        return getattr(importlib.import_module(f"dircal.io.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
