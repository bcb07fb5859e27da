"""Sums over rows that are drawn again and again, with replacement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dircal._core.data.chunks import AbstractSums
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.row_blocks import RowBlock, RowBlocks, ignore
from dircal._typing import FloatArray, IntArray

__all__ = ["DrawnSums", "RowTerms", "draw_sums", "split_sums"]

# Keys of the generators: how draws fall on blocks, and on the rows of a block.
_FALLS, _PLACES = 0, 1


@dataclass(frozen=True, eq=False)
class RowTerms:
    """What each of m rows adds to some sums.

    Parameters
    ----------
    dense : array (d, m)
        To the first d sums, to which most rows add something.
    cells : sparse array (m, c) or None
        To the others, to which few rows do.
    """

    dense: FloatArray
    cells: sparse.csr_array | None = None


@dataclass
class DrawnSums(AbstractSums):
    """Sums (B, s) over the rows of each draw, and sums (s,) over all rows, each taken once."""

    drawn: FloatArray
    total: FloatArray


def draw_sums(
    several: Sequence[RowTerms],
    start: int | None,
    blocks: RowBlocks,
    n_resamples: int,
    advance: Callable[[int], None] = ignore,
) -> DrawnSums:
    """What the rows from ``start`` on add to sums over n rows drawn with replacement.

    The same rows are drawn for all terms; their sums stand as `split_sums` takes them apart. How
    many of the draws fall on each block of rows is drawn first, then where in the block: the same
    as drawing rows one by one, but no more than some blocks of counts are ever held. ``advance`` is
    told how many rows are drawn.
    """
    limits = RESAMPLING_LIMITS.get()
    dense = np.vstack([terms.dense for terms in several])
    parts = [terms.cells for terms in several if terms.cells is not None]
    m, n_dense = dense.shape[1], len(dense)
    cells = sparse.hstack(parts, format="csr") if parts else sparse.csr_array((m, 0))
    total = np.append(dense.sum(axis=1), np.asarray(cells.sum(axis=0)).ravel())
    found = DrawnSums(np.zeros((n_resamples, len(total))), total)
    cut = list(blocks.cut(start, m))
    falls = _falls(blocks, cut[0].number, cut[-1].number + 1, n_resamples)
    rngs = [blocks.generator(_PLACES, block.number) for block in cut]
    pieces = []
    for i in range(0, len(cut), limits.bootstrap_blocks):
        own = slice(i, i + limits.bootstrap_blocks)
        rows = slice(cut[own][0].place.start, cut[own][-1].place.stop)
        pieces.append((own, dense[:, rows], cells[rows].T))
    # Filled again and again: memory that is new each time costs more than the counting.
    room = np.empty(max(piece.shape[1] for _, piece, _ in pieces) * limits.bootstrap_draws)
    for first in range(0, n_resamples, limits.bootstrap_draws):
        of_draws = found.drawn[first : first + limits.bootstrap_draws]
        part = np.zeros((len(total), len(of_draws)))
        for own, of_dense, of_cells in pieces:
            fallen = falls[first : first + len(of_draws), own]
            counts = room[: of_dense.shape[1] * len(of_draws)].reshape(-1, len(of_draws))
            _draw_counts(cut[own], fallen, rngs[own], out=counts)
            part[:n_dense] += of_dense @ counts
            if parts:
                in_cells: FloatArray = np.asarray(of_cells @ counts)
                part[n_dense:] += in_cells
            advance(counts.size)
        of_draws += part.T
    return found


def _draw_counts(
    held: Sequence[RowBlock],
    falls: IntArray,
    rngs: Sequence[np.random.Generator],
    out: FloatArray,
) -> None:
    """How often each row is drawn (rows, draws), from how often each block is (draws, blocks)."""
    n_draws, first = len(falls), held[0].place.start
    for block, fallen, rng in zip(held, falls.T, rngs, strict=True):
        places = rng.integers(0, block.size, fallen.sum())
        places *= n_draws
        places += np.repeat(np.arange(n_draws), fallen)
        of_block = np.bincount(places, minlength=block.size * n_draws).reshape(-1, n_draws)
        out[block.place.start - first : block.place.stop - first] = of_block[block.own]


def _falls(blocks: RowBlocks, low: int, high: int, n_resamples: int) -> IntArray:
    """How many of the n rows of each draw fall on the blocks from ``low`` to ``high`` (B, blocks).

    A multinomial number, drawn by halving: how many fall on the first half of the blocks, then on
    the first half of these, and so on. Only halves that hold these blocks are looked at.
    """
    falls = np.empty((n_resamples, high - low), dtype=np.int64)

    def halve(start: int, stop: int, fallen: IntArray) -> None:
        if stop <= low or start >= high:
            return
        if stop - start == 1:
            falls[:, start - low] = fallen
            return
        middle = (start + stop) // 2
        before, between, end = (blocks.rows_before(one) for one in (start, middle, stop))
        rng = blocks.generator(_FALLS, start, stop)
        on_first = rng.binomial(fallen, (between - before) / (end - before))
        halve(start, middle, on_first)
        halve(middle, stop, fallen - on_first)

    halve(0, blocks.n_blocks, np.full(n_resamples, blocks.n_rows))
    return falls


def split_sums(several: Sequence[tuple[int, int]], sums: FloatArray) -> list[FloatArray]:
    """The sums (..., d + c) of each of the terms, from those of all; ``several`` are their d and c.

    Those of all have the dense ones of all terms first.
    """
    found, at_dense, at_cells = [], 0, sum(d for d, _ in several)
    for d, c in several:
        own = (sums[..., at_dense : at_dense + d], sums[..., at_cells : at_cells + c])
        found.append(np.concatenate(own, axis=-1) if d and c else own[0] if d else own[1])
        at_dense, at_cells = at_dense + d, at_cells + c
    return found
