"""Parts on this machine: in memory, or read again at every pass."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeVar

from dircal._core.data.parts import (
    AbstractParts,
    Part,
    add_up_tree,
    bundle_by_bytes,
    fold_bundle,
)
from dircal.tables._batches import AbstractBatch
from dircal.tables._limits import TableLimits
from dircal.tables._part_reader import CheckedPart, PartReader
from dircal.tables._raw_rows import Agreement, PartSummary

__all__ = ["LocalStore"]

_S = TypeVar("_S")
_T = TypeVar("_T")


@dataclass
class LocalStore:
    """A table in parts that this process reads.

    ``on_rows`` hears of every part that was folded or checked, with the number of its rows.
    """

    batches: Sequence[AbstractBatch]
    reader: PartReader
    limits: TableLimits
    on_rows: Callable[[int], None] | None = None
    _kept: dict[int, CheckedPart] = field(default_factory=dict, repr=False)

    def survey(self) -> list[PartSummary]:
        """What there is to know of each part, in one pass."""
        return list(self.map(self._check, range(len(self.batches))))

    def _check(self, i: int) -> PartSummary:
        checked = self.reader.check(self.batches[i])
        if (
            sum(each.summary.n_bytes for each in [*self._kept.values(), checked])
            <= self.limits.memory_bytes
        ):
            self._kept[i] = checked
        if self.on_rows is not None:
            self.on_rows(checked.summary.n_rows)
        return checked.summary

    def parts(self, agreed: Agreement, summaries: Sequence[PartSummary]) -> AbstractParts:
        """The parts, with every column assigned to its class."""
        return _LocalParts(self, agreed, summaries)

    def load(self, i: int, n_rows: int) -> Any:
        """A part as it was checked."""
        if i in self._kept:
            return self._kept[i].raw
        batch = self.batches[i]
        raw, _ = self.reader.read(batch)
        if raw is None or len(raw.inputs) != n_rows:
            raise ValueError(
                f"{batch.name} has changed since it was checked: it had {n_rows:,} rows then. "
                "Fit again when it is no longer written to."
            )
        return raw

    def let_go(self) -> None:
        """Forget the parts that were kept."""
        self._kept.clear()

    def map(self, function: Callable[[_S], _T], items: Sequence[_S]) -> Iterator[_T]:
        """What a function makes of each item, in order, by so many threads."""
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


class _LocalParts(AbstractParts):
    def __init__(
        self, table: LocalStore, agreed: Agreement, summaries: Sequence[PartSummary]
    ) -> None:
        self._table, self._agreed, self._summaries = table, agreed, summaries
        self._firsts = [0, *accumulate(each.n_rows for each in summaries)]
        self._bundles = bundle_by_bytes([each.n_bytes for each in summaries])
        self._kept: dict[int, Part] | None = None
        if sum(each.n_bytes for each in summaries) <= table.limits.memory_bytes:
            self._kept = {}
        else:
            table.let_go()

    def fold(self, function: Callable[[Part], _T | None]) -> _T:
        def of_bundle(bundle: range) -> _T | None:
            return fold_bundle(function, self._read(bundle))

        return add_up_tree(self._table.map(of_bundle, self._bundles))

    def _read(self, bundle: range) -> Iterator[Part]:
        for i in bundle:
            if self._summaries[i].n_rows == 0:
                continue
            yield self._part(i)
            if self._table.on_rows is not None:
                self._table.on_rows(self._summaries[i].n_rows)

    def _part(self, i: int) -> Part:
        kept = self._kept
        if kept is not None and i in kept:
            return kept[i]
        raw = self._table.load(i, self._summaries[i].n_rows)
        first = self._firsts[i]
        part = self._table.reader.part(raw, self._agreed, first, keeps=kept is not None)
        if kept is not None:
            kept[i] = part
        return part
