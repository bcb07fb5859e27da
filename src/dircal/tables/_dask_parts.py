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
from typing import Any, TypeVar

from dircal._core.data.parts import (
    FAN_IN,
    AbstractParts,
    Part,
    add_up,
    add_up_tree,
    bundle_by_bytes,
    fold_bundle,
)
from dircal._threads import limited_blas
from dircal.tables._batches import AbstractBatch, FrameBatch
from dircal.tables._part_reader import CheckedPart, PartReader
from dircal.tables._raw_rows import Agreement, PartSummary

__all__ = ["DaskStore"]

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


@dataclass
class DaskStore:
    """A table in parts that workers read.

    ``delayed`` are the partitions of a frame, None if workers read the batches. ``on_rows`` is
    called at every fold, with the number of rows.
    """

    client: Any
    batches: Sequence[AbstractBatch]
    reader: PartReader
    delayed: Sequence[Any] | None = None
    on_rows: Callable[[int], None] | None = None
    _checked: list[Any] = field(default_factory=list, repr=False)

    def survey(self) -> list[PartSummary]:
        """What there is to know of each part, in one pass; the parts stay with the workers."""
        options = {"pure": False, "retries": _RETRIES}
        if self.delayed is None:
            self._checked = self.client.map(self.reader.check, self.batches, **options)
        else:
            from dask.delayed import delayed

            check = delayed(_check_frame, pure=False)
            asked = [check(self.reader, i, frame) for i, frame in enumerate(self.delayed)]
            self._checked = self.client.compute(asked, retries=_RETRIES)
        summaries: list[PartSummary] = self.client.gather(
            self.client.map(attrgetter("summary"), self._checked, pure=False)
        )
        return summaries

    def parts(self, agreed: Agreement, summaries: Sequence[PartSummary]) -> AbstractParts:
        """The parts, with every column assigned to its class."""
        sizes = [each.n_bytes for each in summaries]
        firsts = [0, *accumulate(each.n_rows for each in summaries)]
        keeps = _KEPT_COPIES * sum(sizes) <= _MEMORY_SHARE * self._memory()
        bundles = [
            self.client.submit(
                partial(_bundle, self.reader, agreed, keeps),
                firsts[some.start : some.stop],
                self._checked[some.start : some.stop],
                pure=False,
                retries=_RETRIES,
            )
            for some in bundle_by_bytes(sizes)
        ]
        # The bundles hold what they need; how to make them again is known to the scheduler.
        self._checked = []
        return _DaskParts(self.client, bundles, agreed.n_rows, self.on_rows)

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


class _DaskParts(AbstractParts):
    def __init__(
        self, client: Any, bundles: list[Any], n_rows: int, on_rows: Callable[[int], None] | None
    ) -> None:
        self._client, self._bundles, self._n_rows, self._on_rows = client, bundles, n_rows, on_rows

    def fold(self, function: Callable[[Part], _T | None]) -> _T:
        send = partial(_fold, function)
        futures = self._client.map(send, self._bundles, pure=False, retries=_RETRIES)
        while len(futures) > FAN_IN:
            groups = [futures[i : i + FAN_IN] for i in range(0, len(futures), FAN_IN)]
            futures = self._client.map(_add, groups, pure=False, retries=_RETRIES)
        results: list[_T | None] = self._client.gather(futures)
        if self._on_rows is not None:
            self._on_rows(self._n_rows)
        return add_up_tree(results)


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
        return fold_bundle(function, iter(bundle.parts))


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
