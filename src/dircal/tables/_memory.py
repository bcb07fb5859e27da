"""Memory that is used again, where a worker gives back every piece of it at once.

Dask starts workers with a small ``MALLOC_TRIM_THRESHOLD_``, which also makes the C library ask the
system for every block of a chunk anew: a fold then takes twice the time.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["reused_memory"]

# Numbers of `mallopt` in the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Blocks of chunks are half a megabyte; this is the largest that the library takes.
_LARGE_BLOCK = 32 * 2**20
_FREE_TOP = 256 * 2**20
_USUAL_BLOCK = 128 * 2**10


@contextmanager
def reused_memory() -> Iterator[None]:
    """Context in which blocks that are let go of are kept for the next."""
    usual = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    library = _c_library()
    if library is None or not usual.isdecimal():
        yield
        return
    library.mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
    library.mallopt(_TRIM_THRESHOLD, _FREE_TOP)
    try:
        yield
    finally:
        library.mallopt(_MMAP_THRESHOLD, _USUAL_BLOCK)
        library.mallopt(_TRIM_THRESHOLD, int(usual))


@cache
def _c_library() -> Any:
    """The GNU C library; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL("libc.so.6")
        library.mallopt  # noqa: B018
    except (OSError, AttributeError):
        return None
    return library
