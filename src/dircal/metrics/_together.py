"""Several predictions of the same rows, folded side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import Chunk
from dircal._core.data.parts import PartSource
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
    if len(several) == 1 and not isinstance(several[0].source, ArraySource):
        [alone] = several
        if isinstance(alone.source, PartSource):
            alone = replace(alone, source=replace(alone.source, chunk_rows=chunk_rows))
        return alone.fold(_Alone(function))
    sources = [_recut(one, chunk_rows) for one in several]
    total: Any = None
    for chunks in zip(*sources, strict=True):
        blocks = tuple(_block(*pair) for pair in zip(several, chunks, strict=True))
        part = function(blocks)
        if total is None:
            total = part
        else:
            total += part
    result: _Result = total
    return result


@dataclass(frozen=True)
class _Alone(Generic[_Result]):
    """A function of the blocks of several predictions, where there is one."""

    function: Callable[[tuple[Block, ...]], _Result]

    def __call__(self, block: Block) -> _Result:
        return self.function((block,))


def _recut(predictions: Predictions, chunk_rows: int | None) -> ArraySource:
    source = predictions.source
    if not isinstance(source, ArraySource):
        raise ValueError(
            "Several predictions of the same rows were given, of which some are read in parts. "
            "Pass arrays that fit into memory."
        )
    return replace(source, chunk_rows=chunk_rows, cache_bytes=0)


def _block(predictions: Predictions, chunk: Chunk) -> Block:
    weight = chunk.weight * predictions.source.total_weight if predictions.is_weighted else None
    return Block.of_chunk(chunk, weight)
