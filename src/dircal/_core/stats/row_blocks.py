"""Random numbers of rows that do not depend on how rows are cut into chunks.

Rows are counted from the first, and every so many are a block with generators of its own. Whoever
draws for some rows draws for their whole block and takes what belongs to them: chunks that end
where blocks do lose nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray

__all__ = ["BLOCK_ROWS", "RowBlock", "RowBlocks", "drawing_rows", "ignore", "uniform_of"]

BLOCK_ROWS = 4096
"""Rows of a block. Another number gives other draws for the same seed."""


def drawing_rows(n_classes: int) -> int:
    """Rows of a chunk for which numbers are drawn: some blocks."""
    limits = RESAMPLING_LIMITS.get()
    blocks = limits.drawing_elements // (n_classes * BLOCK_ROWS)
    return BLOCK_ROWS * min(max(blocks, 1), limits.max_drawing_blocks)


@dataclass(frozen=True)
class RowBlock:
    """Part of a block: its ``number`` and ``size``, ``own`` rows of it, and their ``place``."""

    number: int
    size: int
    own: slice
    place: slice


@dataclass(frozen=True)
class RowBlocks:
    """All of ``n_rows`` rows in blocks, with random numbers that follow from one ``seed``."""

    n_rows: int
    seed: int

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // BLOCK_ROWS)

    def rows_before(self, block: int) -> int:
        """Number of rows before a block."""
        return min(block * BLOCK_ROWS, self.n_rows)

    def cut(self, start: int | None, n_rows: int) -> Iterator[RowBlock]:
        """The blocks of so many rows from ``start`` on, with the part of each."""
        if start is None:
            raise ValueError(
                "Numbers are drawn for rows by their place, but the source of these rows does not "
                "count them: its chunks have no `start`. Count the rows of its parts first."
            )
        stop = start + n_rows
        for number in range(start // BLOCK_ROWS, -(-stop // BLOCK_ROWS)):
            first, end = self.rows_before(number), self.rows_before(number + 1)
            low, high = max(first, start), min(end, stop)
            own, place = slice(low - first, high - first), slice(low - start, high - start)
            yield RowBlock(number, end - first, own, place)

    def generator(self, *key: int) -> np.random.Generator:
        """The generator of a key; others are independent of it."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


def ignore(n_drawn: int) -> None:
    """Nobody watches."""
    del n_drawn


def uniform_of(rng: np.random.Generator, n_draws: int, block: RowBlock) -> FloatArray:
    """Uniform numbers (n_draws, rows) of the part of a block, each draw after the other."""
    numbers = rng.random((n_draws, block.size))
    whole = block.own.stop - block.own.start == block.size
    return numbers if whole else np.ascontiguousarray(numbers[:, block.own])
