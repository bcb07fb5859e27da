"""Limits: numbers that steer code, as values that a context can replace."""

from contextvars import ContextVar
from typing import TypeVar

__all__ = ["in_context"]

_T = TypeVar("_T")


def in_context(default: _T) -> ContextVar[_T]:
    """Return a variable with ``default`` limits.

    Code reads them by ``get``, however deep it is called, so that no signature passes them on.
    Tests set others for as long as they need them; the default never changes. Other threads and
    the workers of a cluster have a context of their own, with the default.
    """
    return ContextVar(type(default).__name__, default=default)
