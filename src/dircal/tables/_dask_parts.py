"""Parts on the workers of a Dask cluster.

Parts are read, checked and kept by the workers, in bundles that do not depend on them. A fold sends
a function to the bundles and gets sums back. Nothing is kept that Dask could not compute again: a
worker that is lost costs time, and changes no digit.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import accumulate
from operator import attrgetter
from typing import Any, Self, TypeVar

from dircal._core.data.parts import (
    FAN_IN,
    AbstractParts,
    Part,
    add_up,
    add_up_tree,
    bundle_by_bytes,
)
from dircal._threads import limited_blas
from dircal.tables._batches import AbstractBatch, FrameBatch
from dircal.tables._limits import TableLimits
from dircal.tables._raw_rows import Agreement, PartSummary
from dircal.tables._reading import CheckedPart, PartReader

__all__ = ["DaskParts"]

# How often a task may fail, as reading from a store does at times, before the fit does.
_RETRIES = 3
# Scores are kept beside the rows where all that is kept of them, about five times as much, takes no
# more than this part of the memory of the workers.
_KEPT_COPIES, _MEMORY_SHARE = 5, 0.4
# Numbers of `mallopt` in the GNU C library.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# Blocks of chunks are half a megabyte; this is the largest that the library takes.
_LARGE_BLOCK = 32 * 2**20
_FREE_TOP = 256 * 2**20
_USUAL_BLOCK = 128 * 2**10

_T = TypeVar("_T")


@dataclass(eq=False)
class DaskParts(AbstractParts):
    """Parts of a table that workers read and keep.

    ``frames`` are the partitions of a data frame, None if workers read the batches. ``on_rows`` is
    called at every fold, with the number of rows.
    """

    client: Any
    batches: Sequence[AbstractBatch]
    reader: PartReader
    limits: TableLimits
    frames: Sequence[Any] | None = None
    on_rows: Callable[[int], None] | None = None
    _futures: list[Any] = field(default_factory=list, repr=False)
    _n_rows: int = 0

    def survey(self) -> list[PartSummary]:
        """Summarise each part, in one pass; the parts stay with the workers."""
        if self.frames is None:
            self._futures = self._map(self.reader.check, self.batches)
        else:
            from dask.delayed import delayed

            check = delayed(_check_frame, pure=False)
            asked = [check(self.reader, i, frame) for i, frame in enumerate(self.frames)]
            self._futures = self.client.compute(asked, retries=_RETRIES)
        summaries: list[PartSummary] = self.client.gather(
            self._map(attrgetter("summary"), self._futures)
        )
        return summaries

    def assign(self, agreed: Agreement, summaries: Sequence[PartSummary]) -> Self:
        """Assign every column to its class."""
        sizes = [each.n_bytes for each in summaries]
        firsts = [0, *accumulate(each.n_rows for each in summaries)]
        keeps = _KEPT_COPIES * sum(sizes) <= _MEMORY_SHARE * self._memory()
        bundles = bundle_by_bytes(sizes, self.limits.min_bundle_bytes, self.limits.max_bundle_bytes)
        slices = [slice(some.start, some.stop) for some in bundles]
        make = partial(_bundle, self.reader, agreed, keeps)
        # The bundles hold what they need; how to make them again is known to the scheduler.
        checked = [self._futures[some] for some in slices]
        self._futures = self._map(make, [firsts[some] for some in slices], checked)
        self._n_rows = agreed.n_rows
        return self

    def fold(self, function: Callable[[Part], _T | None]) -> _T:
        futures = self._map(partial(_fold, function), self._futures)
        while len(futures) > FAN_IN:
            groups = [futures[i : i + FAN_IN] for i in range(0, len(futures), FAN_IN)]
            futures = self._map(_add, groups)
        results: list[_T | None] = self.client.gather(futures)
        if self.on_rows is not None:
            self.on_rows(self._n_rows)
        return add_up_tree(results)

    def _map(self, function: Callable[..., Any], *items: Sequence[Any]) -> list[Any]:
        futures: list[Any] = self.client.map(function, *items, pure=False, retries=_RETRIES)
        return futures

    def _memory(self) -> float:
        """Memory of all workers, in bytes."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return float(sum(worker["memory_limit"] or 0 for worker in workers))


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Neighbours that are worked on together."""

    parts: list[Part]
    shape: tuple[int, int]

    def __sizeof__(self) -> int:
        # Dask asks, to know how much it holds.
        return object.__sizeof__(self) + 8 * self.shape[0] * self.shape[1]


def _check_frame(reader: PartReader, number: int, frame: Any) -> CheckedPart:
    return reader.check(FrameBatch(frame, f"partition {number}"))


def _bundle(
    reader: PartReader,
    agreed: Agreement,
    keeps: bool,
    firsts: list[int],
    checked: list[CheckedPart],
) -> _Bundle:
    parts = [
        reader.part(each.raw, agreed, first, keeps=keeps)
        for first, each in zip(firsts, checked, strict=True)
        if each.raw is not None
    ]
    return _Bundle(parts, (sum(part.rows.shape[0] for part in parts), len(agreed.classes)))


def _fold(function: Callable[[Part], _T | None], bundle: _Bundle) -> _T | None:
    with limited_blas(bundle.shape), _reused_memory():
        return add_up(map(function, bundle.parts))


def _add(results: list[_T | None]) -> _T | None:
    return add_up(iter(results))


@contextmanager
def _reused_memory() -> Iterator[None]:
    """Keep freed blocks of memory for the next ones.

    Dask starts workers with a small ``MALLOC_TRIM_THRESHOLD_``, which also makes the C library
    request every block of a chunk from the system: a fold then takes twice the time.
    """
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
