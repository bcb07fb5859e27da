import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dircal._core.stats.bootstrap import RowTerms, bootstrap_sums, total_sums


def draw(columns, n_resamples, seed=0):
    """Sums of the columns, which are the same as cells and as dense terms."""
    columns = sparse.csr_array(columns)
    dense = columns.toarray().T if columns.shape[1] < 10 else np.empty((0, len(columns.indptr) - 1))
    several = [RowTerms(dense), RowTerms(np.empty((0, dense.shape[1])), columns)]
    rng = np.random.default_rng(seed)
    of_dense, of_cells = bootstrap_sums(several, n_resamples, rng, lambda _: None)
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
    bootstrap_sums([terms], 150, np.random.default_rng(0), done.append)
    assert sum(done) == 150


def test_terms_keep_their_order():
    rng = np.random.default_rng(3)
    dense, cells = rng.normal(size=(2, 70)), rng.normal(size=(70, 3))
    both = RowTerms(dense, sparse.csr_array(cells))
    several = [RowTerms(dense[:1]), both, RowTerms(dense[1:])]
    first, mixed, last = bootstrap_sums(several, 5, np.random.default_rng(0), lambda _: None)
    assert_allclose(mixed[:, :2], np.hstack([first, last]))
    assert_allclose(total_sums(both), [*dense.sum(axis=1), *cells.sum(axis=0)])
    alone = draw(cells, 5)
    assert_allclose(mixed[:, 2:], alone)
