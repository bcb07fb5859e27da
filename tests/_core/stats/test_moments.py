"""Moments against the draws that they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from scipy.special import log_softmax, softmax

from dircal._core.stats.bins import equal_width
from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.confidence import AbsoluteSumInversion, interval_of
from dircal._core.stats.moments import (
    NullMoments,
    SumMoments,
    moment_rows,
    null_errors,
    null_moments,
    paired_stride,
    sum_moments,
    sums_from_moments,
)

BINS = equal_width(15, np.dtype(float))


def predictions(n, k, spread=3.0, seed=0):
    """True probabilities (k, n)."""
    return softmax(np.random.default_rng(seed).normal(scale=spread, size=(n, k)), axis=1).T.copy()


def terms_of(truth, slope, rng):
    """Losses and gaps of the confidence, of predictions that are too sure by ``slope``."""
    log_truth = np.log(truth)
    y = (log_truth + rng.gumbel(size=truth.shape)).argmax(axis=0)
    logs = log_softmax(slope * log_truth, axis=0)
    n = truth.shape[1]
    losses = -logs[y, np.arange(n)]
    brier = ((np.exp(logs) - np.eye(len(truth))[y].T) ** 2).sum(axis=0)
    top = logs.argmax(axis=0)
    confidence = np.exp(logs.max(axis=0))
    gaps = sparse.csr_array(
        ((top == y) - confidence, (np.arange(n), BINS.index(confidence[None])[0])),
        shape=(n, BINS.n_bins),
    )
    return [RowTerms(np.stack([losses, brier])), RowTerms(np.empty((0, n)), gaps)]


def naive_errors(proba, n_draws, rng):
    """Mean calibration errors of the classes of labels that are drawn row by row."""
    k, n = proba.shape
    cells = BINS.index(proba) + np.arange(0, 15 * k, 15)[:, None]
    expected = np.bincount(cells.ravel(), proba.ravel(), 15 * k)
    ends, found = proba.cumsum(axis=0), np.empty(n_draws)
    for i in range(n_draws):
        labels = (rng.random(n) > ends).sum(axis=0).clip(max=k - 1)
        happened = np.bincount(cells[labels, np.arange(n)], minlength=15 * k)
        found[i] = np.abs(happened - expected).sum() / (n * k)
    return found


def naive_sums(terms, n_draws, rng):
    """Sums over rows that are drawn with replacement."""
    n = terms[0].dense.shape[1]
    rows = np.vstack([terms[0].dense, terms[1].cells.toarray().T])
    counts = (np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(n_draws))
    return np.stack([rows @ count for count in counts])


@pytest.mark.parametrize(("k", "spread"), [(2, 3.0), (10, 3.0), (10, 8.0), (40, 4.0)])
def test_null_of_classes(k, spread):
    n = 6000
    proba = predictions(n, k, spread)
    expected = naive_errors(proba, 600, np.random.default_rng(1))
    moments = null_moments(proba, BINS, every=paired_stride(n, k))
    found = null_errors(moments, k, 20_000, np.random.default_rng(2))
    assert found.mean() == pytest.approx(expected.mean(), rel=0.02)
    # Standard deviations of 600 draws err by 3 %.
    assert found.std() == pytest.approx(expected.std(), rel=0.09)
    assert np.quantile(found, 0.95) == pytest.approx(np.quantile(expected, 0.95), rel=0.04)


@pytest.mark.parametrize("n", [2000, 20_000])
def test_null_of_the_confidence(n):
    confidence = predictions(n, 10).max(axis=0)[None]
    rng, index = np.random.default_rng(0), BINS.index(confidence)[0]
    right = (rng.random(n) < confidence[0] for _ in range(2000))
    gaps = (np.bincount(index, each - confidence[0]) for each in right)
    expected = np.array([np.abs(each).sum() / n for each in gaps])
    found = null_errors(null_moments(confidence, BINS), 1, 20_000, np.random.default_rng(1))
    assert found.mean() == pytest.approx(expected.mean(), rel=0.02)
    assert found.std() == pytest.approx(expected.std(), rel=0.06)


def test_moments_of_parts_add_up():
    proba = predictions(1000, 3)
    whole = null_moments(proba, BINS)
    total: NullMoments = null_moments(proba[:, :300], BINS)
    total += null_moments(proba[:, 300:], BINS)
    assert total.n_rows == 1000
    assert_allclose(total.variances, whole.variances, rtol=1e-12)
    assert_allclose(total.covariance, whole.covariance, atol=1e-10)
    terms = terms_of(proba, 1.3, np.random.default_rng(0))
    both: SumMoments = sum_moments([cut(each, slice(400)) for each in terms])
    both += sum_moments([cut(each, slice(400, None)) for each in terms])
    together = sum_moments(terms)
    for name in ("n_rows", "sums", "products", "cubes"):
        assert_allclose(getattr(both, name), getattr(together, name), rtol=1e-10, atol=1e-10)


def cut(terms, part):
    return RowTerms(terms.dense[:, part], None if terms.cells is None else terms.cells[part])


def test_the_covariance_is_that_of_multinomial_draws():
    """A naive transcription, row by row."""
    proba = predictions(50, 3)
    expected = np.zeros((45, 45))
    for p in proba.T:
        cells = BINS.index(p[:, None])[:, 0] + np.arange(0, 45, 15)
        expected[np.ix_(cells, cells)] += np.diag(p) - np.outer(p, p)
    found = null_moments(proba, BINS)
    assert_allclose(found.covariance, expected, atol=1e-12)
    assert_allclose(found.variances, expected.diagonal(), atol=1e-12)


def test_moments_are_those_of_the_rows():
    terms = terms_of(predictions(3000, 3), 1.5, np.random.default_rng(0))
    moments = sum_moments(terms)
    every = np.vstack([terms[0].dense, terms[1].cells.toarray().T])
    assert_allclose(moments.sums, every.sum(axis=1))
    assert_allclose(moments.covariance, 3000 * np.cov(every, ddof=0), atol=1e-8)
    varies = every.std(axis=1) > 0
    expected = stats.skew(every[varies], axis=1) / np.sqrt(3000)
    assert_allclose(moments.skewness[varies], expected, rtol=1e-6)
    drawn = sums_from_moments(moments, 200_000, np.random.default_rng(0))
    assert_allclose(drawn.mean(axis=0), moments.sums, atol=0.02 * np.sqrt(3000))
    assert_allclose(np.cov(drawn.T), moments.covariance, atol=0.02 * moments.covariance.max())
    assert stats.skew(drawn[:, 0]) == pytest.approx(moments.skewness[0], abs=0.02)
    assert moments.skewness[0] > 0.03


def ends_of(terms, sums):
    """Ends of intervals of log-loss and Brier score, as quantiles, and of the confidence ECE."""
    n = terms[0].dense.shape[1]
    observed = terms[1].cells.sum(axis=0) / n
    errors = AbsoluteSumInversion(observed, sums[:, 2:] / n - observed)
    return np.vstack(
        [np.quantile(sums[:, :2] / n, [0.025, 0.975], axis=0).T, interval_of(errors, 0.95)]
    )


def test_ends_of_intervals():
    terms = terms_of(predictions(20_000, 5), 1.4, np.random.default_rng(0))
    drawn = naive_sums(terms, 4000, np.random.default_rng(1))
    from_moments = sums_from_moments(sum_moments(terms), 4000, np.random.default_rng(2))
    expected, found = ends_of(terms, drawn), ends_of(terms, from_moments)
    length = expected[:, 1] - expected[:, 0]
    # Ends of 4000 draws err by 1 % of the length or so.
    assert (np.abs(found - expected) <= 0.05 * length[:, None]).all()


def test_rows_that_are_all_alike():
    terms = RowTerms(np.full((1, 50), 0.3), sparse.csr_array((50, 4)))
    moments = sum_moments([terms])
    assert_allclose(sums_from_moments(moments, 3, np.random.default_rng(0)), [[15, 0, 0, 0, 0]] * 3)
    certain = null_moments(np.array([[1.0, 0.0], [0.0, 1.0]]), BINS)
    assert_allclose(null_errors(certain, 2, 3, np.random.default_rng(0)), 0.0)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.9])
@pytest.mark.parametrize("n_dense", [0, 3])
def test_sums_of_rows_by_the_definition(density, n_dense):
    """Few terms in cells are multiplied in pairs, many as matrices are."""
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(n_dense, 200))
    cells = sparse.random_array((200, 40), density=density, format="csr", rng=rng)
    cells.data -= 0.5
    moments = sum_moments([RowTerms(dense, cells)])
    rows = np.hstack([dense.T, cells.toarray()])
    assert_allclose(moments.sums, rows.sum(axis=0), atol=1e-12)
    assert_allclose(moments.products, rows.T @ rows, atol=1e-12)
    assert_allclose(moments.cubes, (rows**3).sum(axis=0), atol=1e-12)


def test_a_cell_with_two_terms_of_one_row():
    cells = sparse.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 3, 3]), shape=(2, 2))
    moments = sum_moments([RowTerms(np.empty((0, 2)), cells)])
    assert_allclose(moments.products, [[16.0, 12.0], [12.0, 9.0]])


def test_chunks_hold_as_many_numbers_as_moments():
    assert moment_rows(10, 160) == 2**17 // 10
    assert moment_rows(100, 1600) == 1600**2 // 100
    assert moment_rows(10, 3000) == 16 * 4096
