"""Several predictions of the same rows, folded side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dircal._core.data.chunks import Chunk
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
    first, *others = (one.source for one in several)
    return first.fold_with(others, of_chunks, chunk_rows)


@dataclass(frozen=True)
class _OfChunks(Generic[_Result]):
    """A function of blocks as one of chunks; each has its own ``totals`` of weights."""

    function: Callable[[tuple[Block, ...]], _Result]
    totals: tuple[float | None, ...]

    def __call__(self, chunks: tuple[Chunk, ...]) -> _Result:
        pairs = zip(chunks, self.totals, strict=True)
        return self.function(tuple(_block(*pair) for pair in pairs))


def _block(chunk: Chunk, total: float | None) -> Block:
    return Block.of_chunk(chunk, None if total is None else chunk.weight * total)
