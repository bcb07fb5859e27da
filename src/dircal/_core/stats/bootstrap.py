"""Sums over rows that are drawn again and again, with replacement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dircal._typing import FloatArray, IntArray

__all__ = ["RowTerms", "bootstrap_sums", "total_sums"]

# Rows and draws that are drawn at once: their counts then stay in the cache. Other numbers would
# give other draws for the same seed.
_ROWS_AT_ONCE = 4096
_DRAWS_AT_ONCE = 64
# Blocks of rows that are summed at once: with more, the sums are gone through less often, and with
# many the counts would take more memory than they are worth.
_BLOCKS_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class RowTerms:
    """What each of n rows adds to some sums.

    Parameters
    ----------
    dense : array (d, n)
        To the first d sums, to which most rows add something.
    cells : sparse array (n, c) or None
        To the others, to which few rows do.
    """

    dense: FloatArray
    cells: sparse.csr_array | None = None


def total_sums(terms: RowTerms) -> FloatArray:
    """Sums (d + c,) over all rows, each taken once."""
    dense: FloatArray = terms.dense.sum(axis=1)
    if terms.cells is None:
        return dense
    return np.append(dense, np.asarray(terms.cells.sum(axis=0)).ravel())


def bootstrap_sums(
    several: Sequence[RowTerms],
    n_resamples: int,
    rng: np.random.Generator,
    advance: Callable[[int], None],
) -> list[FloatArray]:
    """Sums (n_resamples, d + c) over n rows drawn with replacement, the same rows for all terms.

    How many of the draws fall on each block of rows is drawn first, then where in the block: the
    same as drawing rows one by one, but no more than a block of counts is ever held. ``advance``
    is told how many draws are done.
    """
    dense = np.vstack([terms.dense for terms in several])
    parts = [terms.cells for terms in several if terms.cells is not None]
    n, n_dense = dense.shape[1], len(dense)
    cells = sparse.hstack(parts, format="csr") if parts else sparse.csr_array((n, 0))
    sizes = np.diff([*range(0, n, _ROWS_AT_ONCE), n])
    step = _BLOCKS_AT_ONCE * _ROWS_AT_ONCE
    pieces = [
        (dense[:, start : start + step], cells[start : start + step].T)
        for start in range(0, n, step)
    ]
    sums = np.empty((n_resamples, n_dense + cells.shape[1]))
    # Filled again and again: memory that is new each time costs more than the counting.
    room = np.empty((min(step, n), _DRAWS_AT_ONCE))
    for first in range(0, n_resamples, _DRAWS_AT_ONCE):
        n_draws = min(_DRAWS_AT_ONCE, n_resamples - first)
        part = np.zeros((sums.shape[1], n_draws))
        falls = rng.multinomial(n, sizes / n, size=n_draws)
        for i, (of_dense, of_cells) in enumerate(pieces):
            blocks = slice(i * _BLOCKS_AT_ONCE, (i + 1) * _BLOCKS_AT_ONCE)
            counts = room.ravel()[: of_dense.shape[1] * n_draws].reshape(-1, n_draws)
            _draw_counts(sizes[blocks], falls[:, blocks], rng, out=counts)
            part[:n_dense] += of_dense @ counts
            if parts:
                of_draws: FloatArray = of_cells @ counts
                part[n_dense:] += of_draws
        sums[first : first + n_draws] = part.T
        advance(n_draws)
    return _split(several, sums, n_dense)


def _draw_counts(
    sizes: IntArray, falls: IntArray, rng: np.random.Generator, out: FloatArray
) -> None:
    """How often each row is drawn (rows, draws), from how often each block is (draws, blocks)."""
    n_draws, start = len(falls), 0
    for size, fallen in zip(sizes.tolist(), falls.T, strict=True):
        places = rng.integers(0, size, fallen.sum())
        places *= n_draws
        places += np.repeat(np.arange(n_draws), fallen)
        of_block = np.bincount(places, minlength=size * n_draws)
        out[start : start + size] = of_block.reshape(size, n_draws)
        start += size


def _split(several: Sequence[RowTerms], sums: FloatArray, n_dense: int) -> list[FloatArray]:
    """The sums of each of the terms, its dense ones first."""
    found, at_dense, at_cells = [], 0, n_dense
    for terms in several:
        d, c = len(terms.dense), 0 if terms.cells is None else terms.cells.shape[1]
        own = (sums[:, at_dense : at_dense + d], sums[:, at_cells : at_cells + c])
        found.append(np.hstack(own) if d and c else own[0] if d else own[1])
        at_dense, at_cells = at_dense + d, at_cells + c
    return found
