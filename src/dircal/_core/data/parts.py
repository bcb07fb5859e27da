"""Parts of a table as a source: each is folded where it lies, and sums add up in one order.

Parts are bundled by their bytes, never by who works on them, and results are added along a tree
that depends on their number alone. So the sums, to the last digit, do not depend on the number of
threads or workers, nor on whether one was lost on the way.
"""

import copy
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource, Chunk, Memo, Reader, once
from dircal._core.data.limits import DATA_LIMITS
from dircal._core.data.subsample import spread_rows, subsample_size
from dircal._typing import IntArray

__all__ = [
    "FAN_IN",
    "AbstractParts",
    "JoinedSource",
    "Part",
    "PartSource",
    "add_up",
    "add_up_tree",
    "bundle_by_bytes",
    "fold_bundle",
]

FAN_IN = 8
"""How many results are added up at a time."""

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that lie together, the first of which is number ``first`` of all.

    ``rows`` are labelled and have passed the door; ``place`` says how people find one of them.

    ``memo`` holds what passes have left here for those that follow; it is None for a part that is
    read anew at every pass.
    """

    first: int
    rows: Any
    place: Callable[[int], str]
    memo: Memo | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # What is moved elsewhere, or written to a disk, is computed again there.
        return Part, (self.first, self.rows, self.place, None if self.memo is None else {})


class AbstractParts(ABC):
    """The parts of a table, wherever they lie."""

    @abstractmethod
    def fold(self, function: Callable[[Part], _T | None]) -> _T:
        """The sum, by ``+=`` and in their order, of what ``function`` makes of each part.

        None adds nothing, but there has to be one that is not.
        """


@dataclass(frozen=True, eq=False)
class PartSource(AbstractChunkSource):
    """Parts of a table as a source of chunks.

    Parameters
    ----------
    parts : AbstractParts
        Where the rows are.
    read : callable
        Makes scores (k, m) of rows of the inputs (m, d).
    change : callable or None
        Makes other rows of those of a part, before they are read; None leaves them.
    n_rows_of_parts : int
        Number of rows of all parts, before the change.
    totals : tuple of int, int and float
        Number of classes, number of rows and the sum of their weights, after the change.
    is_weighted : bool
        Whether rows may differ in weight.
    chunk_rows : int or None
        Rows in a chunk; None chooses.
    token : str
        A name for what parts keep of it.
    """

    parts: AbstractParts
    read: Reader
    change: Callable[[Any], Any] | None
    n_rows_of_parts: int
    totals: tuple[int, int, float]
    is_weighted: bool = True
    chunk_rows: int | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return self.totals[0]

    @property
    def n_samples(self) -> int:
        """Number of rows, those of weight zero included."""
        return self.totals[1]

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return self.totals[2]

    def fold(self, function: Callable[[Chunk], _T]) -> _T:
        """The sum of what ``function`` makes of each chunk, part by part."""
        return self.parts.fold(partial(_fold_part, function, self.look))

    @property
    def look(self) -> "_Look":
        """How it looks at a part, without the parts."""
        return _Look(self.read, self.change, self.total_weight, self.chunk_rows, self.token)

    def subsample(self) -> ArraySource | None:
        """The rows that an array would pick, found in one pass."""
        size = subsample_size(self.n_rows_of_parts, self.n_classes)
        if size is None:
            return None
        picked = spread_rows(self.n_rows_of_parts, size)
        found = self.parts.fold(partial(_pick, picked, self.change))
        few = found[0].with_more(found[1:])
        weight = few.sample_weight
        if few.shape[0] == 0 or (weight is not None and not weight.any()):
            return None
        source: ArraySource = few.source(self.read)
        return source


@dataclass(frozen=True, eq=False)
class JoinedSource(AbstractChunkSource):
    """The rows of several sources, one after another.

    Their chunks are weighted and numbered as those of all rows: their ``total_weight`` is that of
    all, and the first of each follows the last of the one before.
    """

    sources: tuple[PartSource, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return self.sources[0].n_classes

    @property
    def n_samples(self) -> int:
        """Number of rows, those of weight zero included."""
        return sum(one.n_samples for one in self.sources)

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return self.sources[0].total_weight

    @property
    def is_weighted(self) -> bool:
        """Whether rows may differ in weight."""
        return self.sources[0].is_weighted

    def fold(self, function: Callable[[Chunk], _T]) -> _T:
        """The sum of what ``function`` makes of each chunk, source by source."""
        total = add_up(one.fold(function) for one in self.sources)
        assert total is not None
        return total

    def fold_with(
        self,
        others: Sequence[AbstractChunkSource],
        function: Callable[[tuple[Chunk, ...]], _T],
        chunk_rows: int | None = None,
    ) -> _T:
        """Sum a function of chunks of the same rows, one of this source and of each other.

        The sources look at the same parts, each in its own way.
        """
        joined = [one for one in (self, *others) if isinstance(one, JoinedSource)]
        if len(joined) <= len(others):
            return super().fold_with(others, function, chunk_rows)

        def of_parts(sources: tuple[PartSource, ...]) -> _T:
            looks = tuple(replace(one, chunk_rows=chunk_rows).look for one in sources)
            return sources[0].parts.fold(partial(_fold_together, function, looks))

        total = add_up(map(of_parts, zip(*(one.sources for one in joined), strict=True)))
        assert total is not None
        return total

    def subsample(self) -> None:
        """None: these rows are measured, and not fitted."""
        return


@dataclass(frozen=True, eq=False)
class _Look:
    """How a source looks at a part."""

    read: Reader
    change: Callable[[Any], Any] | None
    total_weight: float
    chunk_rows: int | None
    token: str

    def chunks(self, part: Part) -> Iterator[Chunk]:
        """Those of a part, kept beside it where it keeps something."""
        if part.memo is None:
            return self._read(part)
        return iter(
            once(part.memo, "chunks", (self.token, self.chunk_rows), lambda: self._kept(part))
        )

    def _kept(self, part: Part) -> tuple[Chunk, ...]:
        return tuple(replace(chunk, memo={}) for chunk in self._read(part))

    def _read(self, part: Part) -> Iterator[Chunk]:
        rows = part.rows if self.change is None else self.change(part.rows)
        source: ArraySource = rows.source(self.read)
        source = replace(source, weight_of_all=self.total_weight, chunk_rows=self.chunk_rows)
        for chunk in source.read_chunks():
            assert chunk.start is not None
            yield replace(chunk, start=part.first + chunk.start)


def _fold_part(function: Callable[[Chunk], _T], look: _Look, part: Part) -> _T | None:
    return _in_place(map(function, look.chunks(part)))


def _fold_together(
    function: Callable[[tuple[Chunk, ...]], _T], looks: Sequence[_Look], part: Part
) -> _T | None:
    chunks = zip(*(look.chunks(part) for look in looks), strict=True)
    return _in_place(map(function, chunks))


def _in_place(results: Iterator[_T]) -> _T | None:
    """The sum of some results, in the first; None of none."""
    total: Any = next(results, None)
    for result in results:
        total += result
    found: _T | None = total
    return found


def _pick(picked: IntArray, change: Callable[[Any], Any] | None, part: Part) -> list[Any] | None:
    """The picked rows of a part, in a list."""
    here = picked[np.searchsorted(picked, part.first) :] - part.first
    here = here[: np.searchsorted(here, part.rows.shape[0])]
    if len(here) == 0:
        return None
    few = part.rows.take(here).copied()
    return [few if change is None else change(few).copied()]


def bundle_by_bytes(sizes: Sequence[int]) -> list[range]:
    """Neighbours that are worked on together, by the bytes of each part."""
    limits = DATA_LIMITS.get()
    n_bytes = sum(sizes) // limits.n_bundles
    enough = int(np.clip(n_bytes, limits.min_bundle_bytes, limits.max_bundle_bytes))
    bundles, first, before = [], 0, 0
    for i, total in enumerate(accumulate(sizes)):
        if total - before >= enough or i == len(sizes) - 1:
            bundles.append(range(first, i + 1))
            first, before = i + 1, total
    return bundles


def fold_bundle(function: Callable[[Part], _T | None], parts: Iterator[Part]) -> _T | None:
    """The sum over some parts, one after another."""
    return add_up(function(part) for part in parts)


def add_up(results: Iterator[_T | None]) -> _T | None:
    """The sum of some results from the first to the last; None adds nothing.

    The first is copied: it may lie where another may ask for it again.
    """
    total: Any = None
    for result in results:
        if result is None:
            continue
        if total is None:
            total = copy.deepcopy(result)
        else:
            total += result
    found: _T | None = total
    return found


def add_up_tree(results: Iterable[_T | None]) -> _T:
    """The sum of all results, `FAN_IN` neighbours at a time.

    They are added as they come: however many there are, each level of the tree holds one sum.
    """
    levels: list[_Level] = []
    for result in results:
        is_first = not levels or levels[0].n_added == 0
        _carry(levels, copy.deepcopy(result) if is_first else result)
    total: Any = None
    for level in levels:
        # What is left of a level is the last of the next.
        level.add(total)
        total = level.total
    assert total is not None
    found: _T = total
    return found


@dataclass
class _Level:
    """The sum of up to `FAN_IN` results of the level below."""

    total: Any = None
    n_added: int = 0

    def add(self, result: Any) -> None:
        self.n_added += 1
        if self.total is None:
            self.total = result
        elif result is not None:
            self.total += result


def _carry(levels: list[_Level], result: Any) -> None:
    """Add a result to the lowest level, and sums of full levels to the next, as digits carry."""
    for level in levels:
        level.add(result)
        if level.n_added < FAN_IN:
            return
        result, level.total, level.n_added = level.total, None, 0
    levels.append(_Level(result, 1))
