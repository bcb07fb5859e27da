"""Sums over rows that are drawn again and again, with replacement."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from dircal._typing import FloatArray

__all__ = ["bootstrap_sums"]

# Rows and draws that are handled at once: their counts, and the sums of some hundred columns, then
# stay in the cache.
_ROWS_AT_ONCE = 4096
_DRAWS_AT_ONCE = 64


def bootstrap_sums(
    columns: sparse.csr_array,
    n_resamples: int,
    rng: np.random.Generator,
    advance: Callable[[int], None],
) -> FloatArray:
    """Sums (n_resamples, c) of ``columns`` (n, c) over n rows drawn with replacement.

    How many of the draws fall on each block of rows is drawn first, then where in the block: the
    same as drawing rows one by one, but no more than a block of counts is ever held. ``advance``
    is told how many draws are done.
    """
    n, width = columns.shape
    blocks = [columns[first : first + _ROWS_AT_ONCE].T for first in range(0, n, _ROWS_AT_ONCE)]
    sizes = np.array([block.shape[1] for block in blocks])
    sums = np.zeros((n_resamples, width))
    for first in range(0, n_resamples, _DRAWS_AT_ONCE):
        part = sums[first : first + _DRAWS_AT_ONCE]
        n_draws = len(part)
        falls = rng.multinomial(n, sizes / n, size=n_draws)
        for block, size, fallen in zip(blocks, sizes, falls.T, strict=True):
            cells = rng.integers(0, size, fallen.sum())
            cells *= n_draws
            cells += np.repeat(np.arange(n_draws), fallen)
            counts = np.bincount(cells, minlength=size * n_draws).reshape(size, n_draws)
            part += (block @ counts.astype(np.float64)).T
        advance(n_draws)
    return sums
