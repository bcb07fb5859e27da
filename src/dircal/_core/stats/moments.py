r"""Sums over very many rows, drawn from their moments instead of from the rows.

By the central limit theorem sums over many rows are normal. Their mean and covariance are sums over
rows themselves, so they add up over chunks, and what is drawn from them takes as long for a hundred
million rows as for a hundred thousand. What is made of the draws, such as sums of absolute gaps, is
as far from normal as it is.

Two laws are wanted. Rows that are drawn again, with replacement, have the covariance of the rows at
hand, and a little of their skewness (Hall 1992, The bootstrap and Edgeworth expansion). Labels that
are drawn from predictions :math:`p_i` have in each row the covariance
:math:`\mathrm{diag}(p_i) - p_i p_i^T` of a multinomial draw, which falls into the cells (class and
bin) of its probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from dircal._core.data.chunks import AbstractSums
from dircal._core.stats.bins import Bins
from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.row_blocks import drawing_rows
from dircal._typing import FloatArray, IntArray

__all__ = [
    "NullMoments",
    "SumMoments",
    "are_normal",
    "draw_normal",
    "have_covariance",
    "moment_rows",
    "null_errors",
    "null_moments",
    "null_variances",
    "paired_stride",
    "sum_moments",
    "sums_from_moments",
]


def moment_rows(n_classes: int, n_sums: int) -> int:
    """Rows of a chunk of which moments are summed: as many numbers as there are moments.

    With fewer, adding up would take longer than the rows; with more, they leave the cache.
    """
    rows = max(RESAMPLING_LIMITS.get().moment_chunk_elements, n_sums**2) // n_classes
    return min(max(rows, 1), drawing_rows(n_classes))


def are_normal(n_rows: int) -> bool:
    """Whether sums over so many rows are normal for all that matters."""
    return n_rows >= RESAMPLING_LIMITS.get().min_moment_rows


def have_covariance(n_sums: int) -> bool:
    """Whether so many sums are few enough for their covariance."""
    return n_sums <= RESAMPLING_LIMITS.get().max_moment_sums


@dataclass
class SumMoments(AbstractSums):
    """First three moments of what rows add to some sums.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    sums : array (s,)
        Over all rows.
    products : array (s, s)
        Sums of the products of two terms of a row.
    cubes : array (s,)
        Sums of third powers.
    """

    n_rows: int
    sums: FloatArray
    products: FloatArray
    cubes: FloatArray

    def some(self, places: IntArray) -> "SumMoments":
        """Those of some of the sums."""
        products = self.products[np.ix_(places, places)]
        return SumMoments(self.n_rows, self.sums[places], products, self.cubes[places])

    @property
    def covariance(self) -> FloatArray:
        """Covariance (s, s) of the sums over as many rows, drawn with replacement."""
        return self.products - np.outer(self.sums, self.sums / self.n_rows)

    @property
    def skewness(self) -> FloatArray:
        """Skewness (s,) of these sums; 0 where nothing varies."""
        mean, squares = self.sums / self.n_rows, self.products.diagonal()
        central = self.cubes - 3.0 * mean * squares + 2.0 * mean**2 * self.sums
        variance = self.covariance.diagonal()
        varies = variance > RESAMPLING_LIMITS.get().covariance_ridge * squares
        powers = np.where(varies, variance, 1.0) ** 1.5
        found: FloatArray = np.where(varies, central, 0.0) / powers
        return found


def sum_moments(several: Sequence[RowTerms]) -> SumMoments:
    """Moments of the terms of the same rows: the dense ones of all, then the others of all.

    Products of dense terms are those of dense matrices; in cells a row has few terms, and fewer
    pairs of them.
    """
    several_dense = [terms.dense for terms in several]
    parts = [terms.cells for terms in several if terms.cells is not None]
    dense = several_dense[0] if len(several) == 1 else np.vstack(several_dense)
    # Products, since a power of three takes sixty times as long.
    cubes = np.einsum("ij,ij->i", dense * dense, dense)
    found = SumMoments(dense.shape[1], dense.sum(axis=1), dense @ dense.T, cubes)
    if not parts:
        return found
    cells = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
    across = np.asarray(cells.T @ np.ascontiguousarray(dense.T))
    found.products = np.block([[found.products, across.T], [across, _products(cells)]])
    found.sums = np.append(found.sums, _column_sums(cells, cells.data))
    found.cubes = np.append(found.cubes, _column_sums(cells, cells.data**2 * cells.data))
    return found


def _products(cells: sparse.csr_array) -> FloatArray:
    """Sums (c, c) over rows (m, c) of products of two of their terms.

    Pairs of terms are counted where rows have few, in half the time of a sparse product.
    """
    size, columns, data = cells.shape[1], cells.indices.astype(np.int64), cells.data
    in_row = np.diff(cells.indptr)
    if (in_row * in_row).sum() > RESAMPLING_LIMITS.get().max_pairs_per_term * len(data):
        found: FloatArray = (cells.T @ cells).toarray()
        return found
    # How many terms of the same row follow on each.
    later = np.repeat(cells.indptr[1:], in_row) - np.arange(1, len(data) + 1)
    at, keys, values = np.flatnonzero(later > 0), [columns * (size + 1)], [data * data / 2.0]
    for distance in range(1, int(in_row.max(initial=0))):
        other = at + distance
        keys.append(columns.take(at) * size + columns.take(other))
        values.append(data.take(at) * data.take(other))
        at = at[later.take(at) > distance]
    sums = np.bincount(np.concatenate(keys), np.concatenate(values), size**2)
    half: FloatArray = sums.astype(np.float64, copy=False).reshape(size, size)
    return half + half.T


def sums_from_moments(
    moments: SumMoments, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    r"""Sums (n_resamples, s) over rows drawn with replacement, as their moments have them.

    A normal number z becomes :math:`z + \gamma (z^2 - 1) / 6`, which has the skewness
    :math:`\gamma` up to its square.
    """
    covariance = moments.covariance
    sums = draw_normal(covariance, n_resamples, rng)
    variance = covariance.diagonal().clip(min=0.0)
    spread = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    sums += moments.skewness / (6.0 * spread) * (sums**2 - variance)
    sums += moments.sums
    return sums


@dataclass
class NullMoments(AbstractSums):
    """Moments of the rows that happen in each cell if labels are drawn from the predictions.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    variances : array (cells,)
        Of all rows.
    covariance : array (cells, cells)
        Of some of the rows, enough to tell how cells depend on each other.
    """

    n_rows: int
    variances: FloatArray
    covariance: FloatArray


def paired_stride(n_rows: int, n_classes: int) -> int:
    """Of how many rows one is enough to tell how cells depend on each other."""
    limits = RESAMPLING_LIMITS.get()
    return max(1, int(n_rows // max(limits.min_paired_rows, limits.min_pairs / n_classes**2)))


def null_moments(proba: FloatArray, bins: Bins, *, every: int = 1, start: int = 0) -> NullMoments:
    """Moments of probabilities (k, n), or (1, n) of the confidence; cells are class by class.

    One of ``every`` so many rows is asked how cells depend on each other: a row has k squared
    pairs. ``start`` is the number of the first row, so that the same are asked however rows are
    cut.
    """
    k, n = proba.shape
    n_cells = k * bins.n_bins
    cells, chance = _cells_of(proba, bins), proba.clip(0.0, 1.0)
    variances = _variances_of(cells, chance, n_cells)
    asked = slice(-start % every, None, every)
    some = cells[:, asked].T, chance[:, asked].T
    starts = np.arange(0, some[0].size + 1, k)
    rows = sparse.csr_array(
        (some[1].ravel(), some[0].ravel(), starts), shape=(len(starts) - 1, n_cells)
    )
    covariance = np.diag(_column_sums(rows, rows.data)) - (rows.T @ rows).toarray()
    return NullMoments(n, variances, covariance)


def null_variances(proba: FloatArray, bins: Bins) -> FloatArray:
    """Variances (cells,) alone, as `NullMoments` has them."""
    n_cells = len(proba) * bins.n_bins
    return _variances_of(_cells_of(proba, bins), proba.clip(0.0, 1.0), n_cells)


def _cells_of(proba: FloatArray, bins: Bins) -> IntArray:
    cells: IntArray = bins.index(proba)
    cells += np.arange(0, len(proba) * bins.n_bins, bins.n_bins)[:, None]
    return cells


def _variances_of(cells: IntArray, chance: FloatArray, n_cells: int) -> FloatArray:
    spread = chance * (1.0 - chance)
    return np.bincount(cells.ravel(), spread.ravel(), n_cells).astype(np.float64, copy=False)


def null_errors(
    moments: NullMoments, n_classes: int, n_resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Mean calibration errors of the classes (n_resamples,) if every prediction is true."""
    used = moments.variances > 0.0
    variances, covariance = moments.variances[used], moments.covariance[np.ix_(used, used)]
    # Dependence from some of the rows, spread from all of them.
    some = covariance.diagonal()
    scale = np.sqrt(np.divide(variances, some, out=np.zeros_like(some), where=some > 0.0))
    scaled = covariance * np.outer(scale, scale)
    np.fill_diagonal(scaled, variances)
    gaps = np.abs(draw_normal(scaled, n_resamples, rng)).sum(axis=1)
    errors: FloatArray = gaps / (moments.n_rows * n_classes)
    return errors


def draw_normal(covariance: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """Normal numbers (size, s) of mean zero with this covariance, which may be singular."""
    limits = RESAMPLING_LIMITS.get()
    found = np.zeros((size, len(covariance)))
    spread = np.sqrt(covariance.diagonal().clip(min=0.0))
    used = np.flatnonzero(spread > 0.0)
    correlation = covariance[np.ix_(used, used)] / np.outer(spread[used], spread[used])
    np.fill_diagonal(correlation, 1.0 + limits.covariance_ridge)
    factor = _factor(correlation)
    for start in range(0, size, limits.normal_draws):
        part = slice(start, min(start + limits.normal_draws, size))
        normal = rng.standard_normal((part.stop - start, len(used)))
        found[part, used] = (normal @ factor) * spread[used]
    return found


def _factor(correlation: FloatArray) -> FloatArray:
    """An F (s, s) with F'F the correlation; rounding may have made that a little indefinite."""
    try:
        cholesky: FloatArray = linalg.cholesky(correlation, check_finite=False)
        return cholesky
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(correlation, check_finite=False)
        symmetric: FloatArray = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T
        return symmetric


def _column_sums(rows: sparse.csr_array, data: FloatArray) -> FloatArray:
    """Sums (c,) of ``data`` in place of what the rows (m, c) hold."""
    return np.bincount(rows.indices, data, rows.shape[1]).astype(np.float64, copy=False)
