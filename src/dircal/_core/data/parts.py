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
    "Part",
    "PartSource",
    "PartView",
    "add_up",
    "add_up_tree",
    "bundle_by_bytes",
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
    """Parts of a table as a source of chunks; or several sources, one after another.

    Parameters
    ----------
    pieces : tuple of pairs of AbstractParts and PartView
        Where the rows are, and how they are read. The total weight of each view is that of all
        pieces, and the first row of a piece follows the last of the one before.
    n_rows_of_parts : int
        Number of rows of all parts, before they are changed.
    totals : tuple of int, int and float
        Number of classes, number of rows and the sum of their weights, after the change.
    is_weighted : bool
        Whether rows may differ in weight.
    """

    pieces: "tuple[tuple[AbstractParts, PartView], ...]"
    n_rows_of_parts: int
    totals: tuple[int, int, float]
    is_weighted: bool = True

    @classmethod
    def joined(cls, sources: "Sequence[PartSource]") -> "PartSource":
        """Join sources whose total weight is that of all."""
        n_classes, _, total_weight = sources[0].totals
        return cls(
            tuple(piece for one in sources for piece in one.pieces),
            sum(one.n_rows_of_parts for one in sources),
            (n_classes, sum(one.n_samples for one in sources), total_weight),
            sources[0].is_weighted,
        )

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
        """Sum a function of each chunk, part by part."""
        return self.fold_with((), partial(_of_first, function))

    def fold_with(
        self,
        others: Sequence[AbstractChunkSource],
        function: Callable[[tuple[Chunk, ...]], _T],
        chunk_rows: int | None = None,
    ) -> _T:
        """Sum a function of chunks of the same rows, one of this source and of each other.

        The sources read the same parts, each in its own way.
        """
        several = [one for one in (self, *others) if isinstance(one, PartSource)]
        if len(several) <= len(others):
            return super().fold_with(others, function, chunk_rows)

        def of_parts(pieces: "tuple[tuple[AbstractParts, PartView], ...]") -> _T:
            views = [replace(view, chunk_rows=chunk_rows) for _, view in pieces]
            return pieces[0][0].fold(partial(_fold_part, function, views))

        total = add_up(map(of_parts, zip(*(one.pieces for one in several), strict=True)))
        assert total is not None
        return total

    def subsample(self) -> ArraySource | None:
        """Find the rows that an array would pick, in one pass; None for joined sources."""
        size = subsample_size(self.n_rows_of_parts, self.n_classes)
        if size is None or len(self.pieces) > 1:
            return None
        [(parts, view)] = self.pieces
        found = parts.fold(partial(_pick, spread_rows(self.n_rows_of_parts, size), view.change))
        few = found[0].with_more(found[1:])
        weight = few.sample_weight
        if few.shape[0] == 0 or (weight is not None and not weight.any()):
            return None
        source: ArraySource = few.source(view.read)
        return source


@dataclass(frozen=True, eq=False)
class PartView:
    """How the rows of a part are read.

    Parameters
    ----------
    read : callable
        Makes scores (k, m) of rows of the inputs (m, d).
    change : callable or None
        Makes other rows of those of a part, before they are read; None leaves them.
    total_weight : float
        Sum of the weights of all rows.
    chunk_rows : int or None
        Rows in a chunk; None chooses.
    token : str
        A name for what parts keep of it.
    """

    read: Reader
    change: Callable[[Any], Any] | None
    total_weight: float
    chunk_rows: int | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    def chunks(self, part: Part) -> Iterable[Chunk]:
        """Return the chunks of a part, kept next to it if it keeps something."""
        if part.memo is None:
            return self._read(part)
        return once(part.memo, "chunks", (self.token, self.chunk_rows), lambda: self._kept(part))

    def _kept(self, part: Part) -> tuple[Chunk, ...]:
        return tuple(replace(chunk, memo={}) for chunk in self._read(part))

    def _read(self, part: Part) -> Iterator[Chunk]:
        rows = part.rows if self.change is None else self.change(part.rows)
        source: ArraySource = rows.source(self.read)
        source = replace(source, weight_of_all=self.total_weight, chunk_rows=self.chunk_rows)
        for chunk in source.read_chunks():
            assert chunk.start is not None
            yield replace(chunk, start=part.first + chunk.start)


def _of_first(function: Callable[[Chunk], _T], chunks: tuple[Chunk, ...]) -> _T:
    return function(chunks[0])


def _fold_part(
    function: Callable[[tuple[Chunk, ...]], _T], views: Sequence[PartView], part: Part
) -> _T | None:
    return add_up(map(function, zip(*(view.chunks(part) for view in views), strict=True)))


def _pick(picked: IntArray, change: Callable[[Any], Any] | None, part: Part) -> list[Any] | None:
    """The picked rows of a part, in a list."""
    here = picked[np.searchsorted(picked, part.first) :] - part.first
    here = here[: np.searchsorted(here, part.rows.shape[0])]
    if len(here) == 0:
        return None
    few = part.rows.take(here).copied()
    return [few if change is None else change(few).copied()]


def bundle_by_bytes(sizes: Sequence[int], low: int, high: int) -> list[range]:
    """Bundle neighbours that are worked on together, by the bytes of each part.

    A bundle is full when it has its share of all bytes, raised to ``low`` or lowered to ``high``.
    """
    enough = int(np.clip(sum(sizes) // DATA_LIMITS.get().n_bundles, low, high))
    bundles, first, before = [], 0, 0
    for i, total in enumerate(accumulate(sizes)):
        if total - before >= enough or i == len(sizes) - 1:
            bundles.append(range(first, i + 1))
            first, before = i + 1, total
    return bundles


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
