import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dircal._core.stats.bootstrap import RowTerms, draw_sums, split_sums
from dircal._core.stats.row_blocks import RowBlocks


def sums_of(several, n_resamples, seed=0, chunk_rows=None, advance=lambda _: None):
    """Sums of each of the terms, from chunks of so many rows."""
    n = several[0].dense.shape[1]
    blocks, step = RowBlocks(n, seed), chunk_rows or n
    found = None
    for start in range(0, n, step):
        rows = slice(start, start + step)
        part = [
            RowTerms(one.dense[:, rows], None if one.cells is None else one.cells[rows])
            for one in several
        ]
        more = draw_sums(part, start, blocks, n_resamples, advance)
        if found is None:
            found = more
        else:
            found += more
    sizes = [(len(one.dense), 0 if one.cells is None else one.cells.shape[1]) for one in several]
    return split_sums(sizes, found.drawn), split_sums(sizes, found.total)


def draw(columns, n_resamples, seed=0):
    """Sums of the columns, which are the same as cells and as dense terms."""
    columns = sparse.csr_array(columns)
    dense = columns.toarray().T if columns.shape[1] < 10 else np.empty((0, len(columns.indptr) - 1))
    several = [RowTerms(dense), RowTerms(np.empty((0, dense.shape[1])), columns)]
    (of_dense, of_cells), _ = sums_of(several, n_resamples, seed)
    if len(dense):
        assert_allclose(of_dense, of_cells, atol=1e-9)
    return of_cells


def test_every_draw_has_as_many_rows():
    # More rows than are handled at once, and a number of draws that is no multiple of anything.
    sums = draw(np.ones((10_001, 1)), 77)
    assert_array_equal(sums, np.full((77, 1), 10_001.0))


def test_columns_share_their_draws():
    values = np.random.default_rng(1).normal(size=5000)
    sums = draw(np.column_stack([values, 2 * values + 1]), 50)
    assert_allclose(sums[:, 1], 2 * sums[:, 0] + 5000)


def test_counts_are_multinomial():
    """Each row on its own: mean 1, variance 1 - 1/n, covariance -1/n, also across blocks."""
    n = 6000
    sums = draw(sparse.eye_array(n, format="csr"), 400)
    assert_array_equal(sums, sums.round())
    assert abs(sums.mean() - 1) < 1e-12
    # Standard errors over 2.4 million counts are 0.0006 and 0.001.
    assert abs(sums.var() - 1) < 0.006
    assert abs((sums == 0).mean() - np.exp(-1)) < 0.002
    halves = sums[:, :3000].sum(axis=1)
    # Sum of 3000 counts of 6000: binomial with variance n / 4.
    assert 0.75 < halves.var() / (n / 4) < 1.3


def test_draws_have_the_spread_of_the_mean():
    values = np.random.default_rng(2).exponential(size=5000)
    means = draw(values[:, None], 4000)[:, 0] / 5000
    expected = values.std() / np.sqrt(5000)
    assert abs(means.mean() - values.mean()) < 4 * expected / np.sqrt(4000)
    assert 0.95 < means.std() / expected < 1.05


def test_progress_adds_up():
    done = []
    terms = RowTerms(np.ones((1, 10)))
    sums_of([terms], 150, advance=done.append)
    assert sum(done) == 150 * 10


@pytest.mark.parametrize("chunk_rows", [7, 4096, 5000, 20_000])
def test_draws_do_not_depend_on_chunks(chunk_rows):
    n = 100 if chunk_rows == 7 else 20_001
    values = np.random.default_rng(4).normal(size=(2, n))
    several = [RowTerms(values[:1]), RowTerms(np.empty((0, n)), sparse.csr_array(values[1:].T))]
    drawn, total = sums_of(several, 70)
    in_parts, total_of_parts = sums_of(several, 70, chunk_rows=chunk_rows)
    assert_allclose(np.hstack(in_parts), np.hstack(drawn), rtol=1e-12, atol=1e-9)
    assert_allclose(np.hstack(total_of_parts), np.hstack(total), rtol=1e-12, atol=1e-9)


def test_terms_keep_their_order():
    rng = np.random.default_rng(3)
    dense, cells = rng.normal(size=(2, 70)), rng.normal(size=(70, 3))
    both = RowTerms(dense, sparse.csr_array(cells))
    several = [RowTerms(dense[:1]), both, RowTerms(dense[1:])]
    (first, mixed, last), (_, total, _) = sums_of(several, 5)
    assert_allclose(mixed[:, :2], np.hstack([first, last]))
    assert_allclose(total, [*dense.sum(axis=1), *cells.sum(axis=0)])
    alone = draw(cells, 5)
    assert_allclose(mixed[:, 2:], alone)
