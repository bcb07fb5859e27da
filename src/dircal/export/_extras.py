"""Packages that only some exports need."""

import importlib
from types import ModuleType

__all__ = ["need"]


def need(name: str) -> ModuleType:
    """The package, or an error that says which extra to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"This export needs {name}, which is not installed. Install the extra: "
            f"pip install 'dircal[{name}]'",
            name=name,
        ) from None
