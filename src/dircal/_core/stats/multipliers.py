r"""Sums over very many rows in very many cells: rows with random signs.

Where the covariance of the sums would be too large, what rows add beyond its mean is multiplied by
random signs, and added up again: :math:`\sum_i \epsilon_i (x_i - \bar x)` has the covariance of
sums over rows that are drawn with replacement, given the rows. Signs keep the absolute value of
what a lone row adds to a cell, as no other multiplier does, and calibration errors are made of
absolute values; normal or exponential multipliers would make such cells a fifth too small.

Some rows are enough, and their sums are scaled up: the time does not grow with the number of rows.
The signs of a row follow from its number and the seed.

References: Wu (1986), Jackknife, bootstrap and other resampling methods in regression analysis;
Liu (1988), Bootstrap procedures under some non-i.i.d. models. Annals of Statistics.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dircal._core.data.chunks import AbstractSums
from dircal._core.stats.bootstrap import DrawnSums, RowTerms
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.row_blocks import RowBlock, RowBlocks
from dircal._typing import Float32Array, FloatArray, IntArray

__all__ = ["SignedSums", "scale_to_variances", "sign_rows", "signed_stride"]


def signed_stride(n_rows: int) -> int:
    """Of how many rows one gets signs."""
    return max(1, n_rows // RESAMPLING_LIMITS.get().signed_rows)


@dataclass
class SignedSums(AbstractSums):
    """Sums of terms of rows, and the same of some rows with signs.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_signed : int
        Number of those with signs.
    total : array (s,)
        Over all rows.
    signed : array (B, s)
        Over those with signs, for each draw of these.
    signs : array (B,)
        Sums of the signs themselves.
    """

    n_rows: int
    n_signed: int
    total: FloatArray
    signed: FloatArray
    signs: FloatArray

    @property
    def as_drawn(self) -> DrawnSums:
        """As if so many rows had been drawn with replacement."""
        drawn = np.multiply.outer(self.signs, self.total / -self.n_rows)
        drawn += self.signed
        drawn *= np.sqrt(self.n_rows / self.n_signed)
        drawn += self.total
        return DrawnSums(drawn, self.total)


def sign_rows(
    several: Sequence[RowTerms], start: int | None, blocks: RowBlocks, n_resamples: int, every: int
) -> SignedSums:
    """What the rows from ``start`` on add; one of ``every`` so many gets signs.

    The sums of all terms stand as `split_sums` takes them apart.
    """
    dense = np.vstack([terms.dense for terms in several])
    parts = [terms.cells for terms in several if terms.cells is not None]
    m, n_dense = dense.shape[1], len(dense)
    cells = sparse.hstack(parts, format="csr") if parts else sparse.csr_array((m, 0))
    total = np.append(dense.sum(axis=1), np.asarray(cells.sum(axis=0)).ravel())
    found = SignedSums(m, 0, total, np.zeros((n_resamples, len(total))), np.zeros(n_resamples))
    for block in blocks.cut(start, m):
        rows, signs = _signs_of(block, blocks, n_resamples, every)
        found.n_signed += len(rows)
        found.signs += signs.sum(axis=0, dtype=np.float64)
        # Signs are exact in single precision, and sums of some thousand rows nearly so.
        found.signed[:, :n_dense] += (dense[:, rows].astype(np.float32) @ signs).T
        if parts:
            found.signed[:, n_dense:] += (cells[rows].T.astype(np.float32) @ signs).T
    return found


def _signs_of(
    block: RowBlock, blocks: RowBlocks, n_resamples: int, every: int
) -> tuple[IntArray, Float32Array]:
    """Rows (r,) of a chunk that get signs, and these (r, B)."""
    places = np.arange(-blocks.rows_before(block.number) % every, block.size, every)
    rng = blocks.generator(block.number)
    bits = rng.integers(0, 256, (len(places), -(-n_resamples // 8)), dtype=np.uint8)
    own = (places >= block.own.start) & (places < block.own.stop)
    signs = np.unpackbits(bits[own], axis=1, count=n_resamples).astype(np.float32)
    signs *= 2.0
    signs -= 1.0
    return places[own] - block.own.start + block.place.start, signs


def scale_to_variances(
    deviations: FloatArray, variances: FloatArray, rng: np.random.Generator
) -> None:
    """Scale deviations (B, c) in place to variances (c,) that are known.

    A cell of which no row got signs has normal ones of its own.
    """
    found = np.einsum("bc,bc->c", deviations, deviations) / len(deviations)
    lone = np.flatnonzero((found == 0.0) & (variances > 0.0))
    deviations *= np.sqrt(variances / np.where(found > 0.0, found, 1.0))
    normal = rng.standard_normal((len(deviations), len(lone)))
    deviations[:, lone] = normal * np.sqrt(variances[lone])
