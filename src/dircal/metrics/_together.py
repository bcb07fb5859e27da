"""Several predictions of the same rows, folded side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd
from typing import Generic, TypeVar

from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource, Chunk
from dircal._core.data.parts import JoinedSource, PartSource, fold_sources
from dircal.metrics._blocks import Block
from dircal.metrics._predictions import Predictions

__all__ = ["fold_together"]

_Result = TypeVar("_Result")


def fold_together(
    several: Sequence[Predictions],
    function: Callable[[tuple[Block, ...]], _Result],
    chunk_rows: int | None = None,
) -> _Result:
    """The sum of what ``function`` makes of the blocks of the same rows, one of each predictions.

    Arrays and parts are cut into chunks of so many rows; those of other sources are what they are.
    """
    totals = tuple(one.source.total_weight if one.is_weighted else None for one in several)
    of_chunks = _OfChunks(function, totals)
    arrays = [one.source for one in several if isinstance(one.source, ArraySource)]
    if len(arrays) == len(several):
        recut = [replace(one, chunk_rows=chunk_rows, cache_bytes=0) for one in arrays]
        return reduce(iadd, map(of_chunks, zip(*recut, strict=True)))
    joined = [_joined(one.source) for one in several]
    sources = [one for one in joined if one is not None]
    if len(sources) == len(several):
        return fold_sources(sources, of_chunks, chunk_rows)
    if len(several) > 1:
        raise ValueError(
            "Several predictions of the same rows were given, of which some are in memory and "
            "others are read in parts. Pass all of them in the same way."
        )
    return several[0].source.fold(_Alone(of_chunks))


def _joined(source: AbstractChunkSource) -> JoinedSource | None:
    """A source that reads parts; None for others."""
    if isinstance(source, PartSource):
        return JoinedSource((source,))
    return source if isinstance(source, JoinedSource) else None


@dataclass(frozen=True)
class _OfChunks(Generic[_Result]):
    """A function of blocks as one of chunks; each has its own ``totals`` of weights."""

    function: Callable[[tuple[Block, ...]], _Result]
    totals: tuple[float | None, ...]

    def __call__(self, chunks: tuple[Chunk, ...]) -> _Result:
        pairs = zip(chunks, self.totals, strict=True)
        return self.function(tuple(_block(*pair) for pair in pairs))


@dataclass(frozen=True)
class _Alone(Generic[_Result]):
    """A function of several chunks, where there is one."""

    function: Callable[[tuple[Chunk, ...]], _Result]

    def __call__(self, chunk: Chunk) -> _Result:
        return self.function((chunk,))


def _block(chunk: Chunk, total: float | None) -> Block:
    return Block.of_chunk(chunk, None if total is None else chunk.weight * total)
