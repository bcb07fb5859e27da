"""Parts on this machine: in memory, or read again at every pass."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Self, TypeVar

from dircal._core.data.parts import AbstractParts, Part, add_up, add_up_tree, bundle_by_bytes
from dircal.tables._batches import AbstractBatch
from dircal.tables._limits import TableLimits
from dircal.tables._raw_rows import Agreement, PartSummary
from dircal.tables._reading import CheckedPart, PartReader

__all__ = ["LocalParts"]

_S = TypeVar("_S")
_T = TypeVar("_T")


@dataclass(eq=False)
class LocalParts(AbstractParts):
    """Parts of a table that this process reads.

    ``on_rows`` is called with the number of rows of every part that was folded or checked.
    """

    batches: Sequence[AbstractBatch]
    reader: PartReader
    limits: TableLimits
    on_rows: Callable[[int], None] | None = None
    _checked: dict[int, CheckedPart] = field(default_factory=dict, repr=False)
    _kept: dict[int, Part] | None = field(default=None, repr=False)
    _agreed: Any = None
    _n_rows: list[int] = field(default_factory=list)
    _firsts: list[int] = field(default_factory=list)
    _bundles: list[range] = field(default_factory=list)

    def survey(self) -> list[PartSummary]:
        """Summarise each part, in one pass."""
        return list(self._map(self._check, range(len(self.batches))))

    def _check(self, i: int) -> PartSummary:
        checked = self.reader.check(self.batches[i])
        n_bytes = sum(each.summary.n_bytes for each in [*self._checked.values(), checked])
        if n_bytes <= self.limits.memory_bytes:
            self._checked[i] = checked
        self._report(checked.summary.n_rows)
        return checked.summary

    def assign(self, agreed: Agreement, summaries: Sequence[PartSummary]) -> Self:
        """Assign every column to its class."""
        sizes, limits = [each.n_bytes for each in summaries], self.limits
        self._agreed, self._n_rows = agreed, [each.n_rows for each in summaries]
        self._firsts = [0, *accumulate(self._n_rows)]
        self._bundles = bundle_by_bytes(sizes, limits.min_bundle_bytes, limits.max_bundle_bytes)
        if sum(sizes) <= limits.memory_bytes:
            self._kept = {}
        else:
            self._checked.clear()
        return self

    def fold(self, function: Callable[[Part], _T | None]) -> _T:
        def of_bundle(bundle: range) -> _T | None:
            return add_up(map(function, self._read(bundle)))

        return add_up_tree(self._map(of_bundle, self._bundles))

    def _read(self, bundle: range) -> Iterator[Part]:
        for i in bundle:
            if self._n_rows[i]:
                yield self._part(i)
                self._report(self._n_rows[i])

    def _part(self, i: int) -> Part:
        kept, batch = self._kept, self.batches[i]
        if kept is not None and i in kept:
            return kept[i]
        raw = self._checked.pop(i).raw if i in self._checked else self.reader.read(batch)[0]
        if raw is None or len(raw.inputs) != self._n_rows[i]:
            raise ValueError(
                f"{batch.name} has changed since it was checked: it had {self._n_rows[i]:,} rows "
                "then. Fit again when it is no longer written to."
            )
        part = self.reader.part(raw, self._agreed, self._firsts[i], keeps=kept is not None)
        if kept is not None:
            kept[i] = part
        return part

    def _report(self, n_rows: int) -> None:
        if self.on_rows is not None:
            self.on_rows(n_rows)

    def _map(self, function: Callable[[_S], _T], items: Sequence[_S]) -> Iterator[_T]:
        """Apply a function to each item, in order, by several threads."""
        n_threads = min(self.limits.threads, os.cpu_count() or 1)
        if n_threads == 1 or len(items) == 1:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(n_threads) as threads:
            try:
                yield from threads.map(function, items)
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise
