"""Draws of rows and labels, and their moments."""

import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.special import log_softmax, softmax

from dircal._core.stats.bins import equal_width
from dircal._core.stats.bootstrap import RowTerms, draw_sums, split_sums
from dircal._core.stats.chances import ChanceSums, count_distribution
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
from dircal._core.stats.multipliers import SignedSums, scale_to_variances, sign_rows, signed_stride
from dircal._core.stats.null_resampling import (
    LabelDraws,
    NullCells,
    draws_in_passes,
    null_classwise_ece,
    null_confidence_ece,
)
from dircal._core.stats.row_blocks import BLOCK_ROWS, RowBlocks
from dircal._core.stats.tilted_mean import TiltedMean


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


# Draws that are exact: against the distributions they stand for.


BINS = equal_width(15, np.dtype(np.float64))


def draw_together(several, n_resamples, seed, advance=lambda done: None, chunk_rows=None):
    """The errors of several predictions of the same rows."""
    k, n = several[0].shape
    errors = []
    for draws in draws_in_passes(n_resamples, len(several), k * 15):
        cells = NullCells((BINS,) * len(several), RowBlocks(n, seed), draws, advance)
        step, found = chunk_rows or n, None
        for start in range(0, n, step):
            part = cells([proba[:, start : start + step] for proba in several], start)
            if found is None:
                found = part
            else:
                found += part
        errors.append(null_classwise_ece(found, n, k))
    return np.concatenate(errors, axis=1)


def draw_classwise(proba, n_resamples, seed, advance=lambda done: None, **options):
    """The errors of one set of predictions."""
    [errors] = draw_together([proba], n_resamples, seed, advance, **options)
    return errors


def distribution(proba):
    """All probabilities, from no event to as many as there are rows."""
    counts = count_distribution(np.asarray(proba))
    whole = np.zeros(counts.first + len(counts.proba) + len(proba) + 1)
    whole[counts.first : counts.first + len(counts.proba)] = counts.proba
    return whole[: len(proba) + 1]


def convolved(proba):
    """The same, one Bernoulli after another."""
    counts = np.ones(1)
    for chance in proba:
        counts = np.convolve(counts, [1.0 - chance, chance])
    return counts


@given(st.lists(st.floats(0, 1), min_size=1, max_size=100))
def test_counts_of_any_rows(proba):
    assert_allclose(distribution(proba), convolved(proba), atol=1e-13)


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 1000, 4097])
def test_counts_of_many_rows(n):
    proba = np.random.default_rng(n).uniform(0.3, 0.9, n)
    assert_allclose(distribution(proba), convolved(proba), atol=1e-13)


def test_counts_of_equal_rows_are_binomial():
    expected = stats.binom.pmf(np.arange(301), 300, 0.2)
    assert_allclose(distribution(np.full(300, 0.2)), expected, atol=1e-13)


def test_counts_of_unequal_rows_are_not_binomial():
    proba = np.r_[np.full(50, 0.02), np.full(50, 0.98)]
    spread = distribution(proba) @ (np.arange(101) - 50) ** 2
    assert spread == pytest.approx((proba * (1 - proba)).sum())
    assert spread < 0.1 * stats.binom.var(100, 0.5)


def test_certain_rows_are_never_in_doubt():
    counts = count_distribution(np.array([1.0] * 40 + [0.0] * 60))
    assert_array_equal(counts.draw(1000, np.random.default_rng(0)), 40)


def test_drawn_counts_follow_their_distribution():
    proba = np.random.default_rng(0).uniform(0, 1, 12)
    counts = count_distribution(proba).draw(100_000, np.random.default_rng(1))
    seen, expected = np.bincount(counts, minlength=13), 100_000 * convolved(proba)
    often = expected > 5
    rest = [seen[~often].sum()], [expected[~often].sum()]
    assert (
        stats.chisquare(np.r_[seen[often], rest[0]], np.r_[expected[often], rest[1]]).pvalue > 1e-3
    )


def test_errors_of_the_confidence_are_those_of_drawn_rows():
    rng = np.random.default_rng(2)
    values = rng.beta(4, 1, 300)
    index = BINS.index(values[None])[0]

    def error(outcomes):
        return np.abs(np.bincount(index, outcomes - values, minlength=15)).sum() / 300

    naive = [error(rng.random(300) < values) for _ in range(4000)]
    [chances] = ChanceSums.of(values[None], BINS).finish()
    drawn = null_confidence_ece(chances, 4000, np.random.default_rng(3))
    assert stats.ks_2samp(naive, drawn).pvalue > 1e-3


@pytest.mark.parametrize("size", [50, 300, 30_000])
def test_counts_of_parts_are_those_of_all_rows(size):
    n = 400 if size < 1000 else 90_000
    values = np.random.default_rng(5).beta(2, 2, (2, n))
    whole, found = ChanceSums.of(values, BINS).finish(), None
    for start in range(0, n, size):
        part = ChanceSums.of(values[:, start : start + size], BINS)
        if found is None:
            found = part
        else:
            found += part
    for ours, theirs in zip(found.finish(), whole, strict=True):
        assert [one.position for one in ours] == [one.position for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.n_rows == other.n_rows
            assert one.expected == pytest.approx(other.expected, rel=1e-12)
            first = max(one.counts.first, other.counts.first)
            a, b = (c.counts.proba[first - c.counts.first :] for c in (one, other))
            assert_allclose(a[: len(b)], b[: len(a)], atol=1e-13)


def labels_of(proba, uniform):
    """Label of each row, read from the cells in which something happened."""
    k, n = proba.shape
    labels = np.empty(n, dtype=int)
    for i in range(n):
        alone = LabelDraws.prepare(proba[:, [i]], BINS)
        expected = np.zeros(k * 15)
        expected[np.arange(0, k * 15, 15) + BINS.index(proba[:, [i]])[:, 0]] = proba[:, i]
        outcomes = alone.moves(uniform[None, [i]])[0] + alone.excess + expected
        labels[i] = np.flatnonzero(outcomes > 0.5)[0] // 15
        assert np.flatnonzero(np.abs(outcomes) > 1e-9).size == 1
    return labels


@pytest.mark.parametrize("k", [2, 8, 9, 100])
def test_labels_have_the_probabilities_of_their_row(k):
    rng = np.random.default_rng(k)
    row = rng.dirichlet(np.full(k, 0.5))
    proba = np.repeat(row[:, None], 3000, axis=1)
    labels = labels_of(proba, (np.arange(3000) + 0.5) / 3000)
    # The uniform numbers are a grid, so every class gets its share up to rounding.
    assert_allclose(np.bincount(labels, minlength=k) / 3000, row, atol=2 / 3000)


def test_impossible_classes_are_never_drawn():
    proba = np.array([[0.1, 0.0], [0.2, 0.0], [0.7, 1.0], [0.0, 0.0]])
    for uniform in (0.0, 0.69, 0.71, 0.85, 0.95, np.nextafter(1.0, 0.0)):
        labels = labels_of(proba, np.full(2, uniform))
        assert labels[0] != 3
        assert labels[1] == 2


def test_sums_that_fall_short_of_one_give_the_last_possible_class():
    proba = np.array([[0.3], [0.3], [0.4 - 1e-9], [0.0]])
    assert labels_of(proba, np.array([np.nextafter(1.0, 0.0)])) == [1]


@pytest.mark.parametrize(("n", "chunk_rows"), [(100, 7), (100, 100), (9000, 4096), (9000, 5001)])
def test_labels_do_not_depend_on_chunks(n, chunk_rows):
    proba = np.random.default_rng(0).dirichlet(np.ones(5), n).T
    told = []
    once = draw_classwise(proba, 50, 1)
    again = draw_classwise(proba, 50, 1, told.append, chunk_rows=chunk_rows)
    assert_allclose(once, again, rtol=1e-12)
    assert sum(told) == 50 * n


@pytest.mark.parametrize("rows_at_once", [1, 4096, 10**6])
def test_draws_do_not_depend_on_how_many_are_handled_at_once(rows_at_once, use_limits):
    proba = np.random.default_rng(0).dirichlet(np.ones(5), 100).T
    once = draw_classwise(proba, 2000, 1)
    use_limits("ResamplingLimits", null_rows=rows_at_once)
    # No more than one group of draws in a pass.
    use_limits("ResamplingLimits", max_pass_cells=1)
    assert len(draws_in_passes(2000, 1, 75)) == 2
    assert_array_equal(draw_classwise(proba, 2000, 1), once)


def test_errors_of_the_classes_are_those_of_drawn_labels():
    rng = np.random.default_rng(4)
    proba = rng.dirichlet(np.full(4, 0.7), 200).T
    bins = BINS.index(proba)
    cells = [(j, bins[j] == b) for j, b in product(range(4), range(15)) if (bins[j] == b).any()]
    expected = [proba[j, inside].sum() for j, inside in cells]

    def error(labels):
        seen = [np.count_nonzero(labels[inside] == j) for j, inside in cells]
        return np.abs(np.subtract(seen, expected)).sum() / (200 * 4)

    cumulative = proba.cumsum(axis=0)
    naive = [error((rng.random(200) > cumulative).sum(axis=0).clip(max=3)) for _ in range(2000)]
    drawn = draw_classwise(proba, 2000, 5)
    assert stats.ks_2samp(naive, drawn).pvalue > 1e-3


@pytest.mark.parametrize("n_rows", [30, 70_000])
def test_several_predictions_share_their_draws(n_rows):
    probas = [np.random.default_rng(i).dirichlet(np.ones(3), n_rows).T for i in (0, 1)]
    both = draw_together(probas, 8, 1)
    for proba, errors in zip(probas, both, strict=True):
        assert_array_equal(errors, draw_classwise(proba, 8, 1))


@pytest.mark.parametrize("rest", [0.0, 1e-310, 1e-25])
def test_rows_that_fall_short_of_one_beside_next_to_nothing(rest):
    # The last uniform number before one is far beyond both the top class and the sum of the rest.
    proba = np.array([[rest], [1.0 - 8e-7], [0.0]])
    labels = labels_of(proba, np.array([np.nextafter(1.0, 0.0)]))
    assert labels == [0 if rest == 1e-25 else 1]


@pytest.mark.parametrize("cells_at_once", [1, 200, 10**6])
def test_few_rows_with_many_cells_take_little_memory(cells_at_once, use_limits):
    proba = np.random.default_rng(0).dirichlet(np.ones(200), 1).T
    once = draw_classwise(proba, 2000, 1)
    use_limits("ResamplingLimits", null_cells=cells_at_once)
    tracemalloc.start()
    again = draw_classwise(proba, 2000, 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_array_equal(once, again)
    assert peak < 60e6  # 2000 draws of 3000 cells at once are 48 MB for each of four arrays


# Rows with random signs against rows that are drawn.


def terms_of(n, seed=0):
    rng = np.random.default_rng(seed)
    cells = sparse.random_array((n, 5), density=0.3, format="csr", rng=rng)
    return RowTerms(rng.normal(1.0, 2.0, size=(2, n)), cells)


def part_of(terms, part):
    return RowTerms(terms.dense[:, part], terms.cells[part])


def test_covariance_is_that_of_rows_drawn_again():
    n, terms = 3000, terms_of(3000)
    found = sign_rows([terms], 0, RowBlocks(n, 7), 20_000, 1).as_drawn
    rows = np.hstack([terms.dense.T, terms.cells.toarray()])
    assert_allclose(found.total, rows.sum(axis=0), rtol=1e-12)
    # Means and variances of 20,000 draws err by 0.7 and 1 % of a standard deviation.
    spread = np.sqrt(n) * rows.std(axis=0)
    assert_allclose((found.drawn.mean(axis=0) - found.total) / spread, 0.0, atol=0.03)
    correlations = np.corrcoef(rows.T)
    assert_allclose(np.corrcoef(found.drawn.T), correlations, atol=0.03)
    assert_allclose(found.drawn.std(axis=0), spread, rtol=0.03)


def test_some_rows_stand_for_all():
    n, terms = 12_000, terms_of(12_000)
    all_rows, some = (sign_rows([terms], 0, RowBlocks(n, 7), 4000, every) for every in (1, 3))
    assert (all_rows.n_signed, some.n_signed) == (n, n // 3)
    expected, found = (one.as_drawn.drawn.std(axis=0) for one in (all_rows, some))
    assert_allclose(found, expected, rtol=0.08)


@pytest.mark.parametrize("cuts", [[5000], [1, 4095, 4096, 8193], [3, 6000, 6001]])
@pytest.mark.parametrize("every", [1, 7])
def test_signs_belong_to_rows_however_these_are_cut(cuts, every):
    n, terms = 9000, terms_of(9000)
    blocks = RowBlocks(n, 3)
    whole = sign_rows([terms], 0, blocks, 50, every)
    ends = [0, *cuts, n]
    found = None
    for start, stop in pairwise(ends):
        part = sign_rows([part_of(terms, slice(start, stop))], start, blocks, 50, every)
        if found is None:
            found = part
        else:
            found += part
    assert_array_equal(found.signs, whole.signs)
    assert (found.n_rows, found.n_signed) == (whole.n_rows, whole.n_signed)
    assert_allclose(found.signed, whole.signed, atol=1e-3)


def test_a_lone_row_keeps_its_absolute_value():
    terms = RowTerms(np.eye(1, 1000, 10) * 0.4)
    sums = sign_rows([terms], 0, RowBlocks(1000, 0), 64, 1)
    assert_allclose(np.abs(sums.signed), 0.4, rtol=1e-6)
    assert len(np.unique(sums.signed)) == 2


def test_seeds_and_blocks_differ():
    n = 2 * BLOCK_ROWS
    terms = RowTerms(np.repeat(np.eye(2), BLOCK_ROWS, axis=1))
    first, second = (sign_rows([terms], 0, RowBlocks(n, seed), 64, 1).signed for seed in (0, 1))
    assert (first != second).any()
    assert (first[:, 0] != first[:, 1]).any()


def test_variances_that_are_known():
    rng = np.random.default_rng(0)
    deviations = np.column_stack([rng.normal(size=(4000, 2)), np.zeros((4000, 2))])
    scale_to_variances(deviations, np.array([4.0, 1.0, 9.0, 0.0]), rng)
    # What no row with signs fell into is normal.
    assert_allclose(deviations.std(axis=0), [2.0, 1.0, 3.0, 0.0], rtol=0.05)


def test_at_most_some_rows_get_signs():
    assert signed_stride(99) == 1
    assert signed_stride(100_000) == 1
    assert signed_stride(5_000_000) == 50


def test_sums_add_up():
    one = SignedSums(2, 1, np.ones(1), np.ones((3, 1)), np.ones(3))
    one += SignedSums(3, 2, np.ones(1), np.ones((3, 1)), np.ones(3))
    assert (one.n_rows, one.n_signed) == (5, 3)
    assert_array_equal(one.total, [2.0])


# Moments against the draws that they stand for.


EQUAL_BINS = equal_width(15, np.dtype(float))


def predictions(n, k, spread=3.0, seed=0):
    """True probabilities (k, n)."""
    return softmax(np.random.default_rng(seed).normal(scale=spread, size=(n, k)), axis=1).T.copy()


def overconfident_terms(truth, slope, rng):
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
        ((top == y) - confidence, (np.arange(n), EQUAL_BINS.index(confidence[None])[0])),
        shape=(n, EQUAL_BINS.n_bins),
    )
    return [RowTerms(np.stack([losses, brier])), RowTerms(np.empty((0, n)), gaps)]


def naive_errors(proba, n_draws, rng):
    """Mean calibration errors of the classes of labels that are drawn row by row."""
    k, n = proba.shape
    cells = EQUAL_BINS.index(proba) + np.arange(0, 15 * k, 15)[:, None]
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
    moments = null_moments(proba, EQUAL_BINS, every=paired_stride(n, k))
    found = null_errors(moments, k, 20_000, np.random.default_rng(2))
    assert found.mean() == pytest.approx(expected.mean(), rel=0.02)
    # Standard deviations of 600 draws err by 3 %.
    assert found.std() == pytest.approx(expected.std(), rel=0.09)
    assert np.quantile(found, 0.95) == pytest.approx(np.quantile(expected, 0.95), rel=0.04)


@pytest.mark.parametrize("n", [2000, 20_000])
def test_null_of_the_confidence(n):
    confidence = predictions(n, 10).max(axis=0)[None]
    rng, index = np.random.default_rng(0), EQUAL_BINS.index(confidence)[0]
    right = (rng.random(n) < confidence[0] for _ in range(2000))
    gaps = (np.bincount(index, each - confidence[0]) for each in right)
    expected = np.array([np.abs(each).sum() / n for each in gaps])
    found = null_errors(null_moments(confidence, EQUAL_BINS), 1, 20_000, np.random.default_rng(1))
    assert found.mean() == pytest.approx(expected.mean(), rel=0.02)
    assert found.std() == pytest.approx(expected.std(), rel=0.06)


def test_moments_of_parts_add_up():
    proba = predictions(1000, 3)
    whole = null_moments(proba, EQUAL_BINS)
    total: NullMoments = null_moments(proba[:, :300], EQUAL_BINS)
    total += null_moments(proba[:, 300:], EQUAL_BINS)
    assert total.n_rows == 1000
    assert_allclose(total.variances, whole.variances, rtol=1e-12)
    assert_allclose(total.covariance, whole.covariance, atol=1e-10)
    terms = overconfident_terms(proba, 1.3, np.random.default_rng(0))
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
        cells = EQUAL_BINS.index(p[:, None])[:, 0] + np.arange(0, 45, 15)
        expected[np.ix_(cells, cells)] += np.diag(p) - np.outer(p, p)
    found = null_moments(proba, EQUAL_BINS)
    assert_allclose(found.covariance, expected, atol=1e-12)
    assert_allclose(found.variances, expected.diagonal(), atol=1e-12)


def test_moments_are_those_of_the_rows():
    terms = overconfident_terms(predictions(3000, 3), 1.5, np.random.default_rng(0))
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
    terms = overconfident_terms(predictions(20_000, 5), 1.4, np.random.default_rng(0))
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
    certain = null_moments(np.array([[1.0, 0.0], [0.0, 1.0]]), EQUAL_BINS)
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


@pytest.mark.parametrize(
    ("n", "events", "rate"),
    [
        (100, 0, 0.01),
        (100, 1, 0.01),
        (100, 3, 0.02),
        (50, 20, 0.3),
        (50, 50, 0.9),
        (4000, 9, 0.001),
    ],
)
def test_the_tilted_mean_of_equal_rows_has_the_binomial_interval(n, events, rate):
    """Clopper and Pearson, within the error of a saddlepoint; exact without or with all events."""
    proba, values = np.tile([1.0 - rate, rate], (n, 1)), np.array([2.0, 7.0])
    found = TiltedMean([(proba, values)], 2.0 + 5.0 * events / n)
    low = stats.beta.ppf(0.025, events, n - events + 1) if events else 0.0
    high = stats.beta.ppf(0.975, events + 1, n - events) if events < n else 1.0
    assert_allclose(interval_of(found, 0.95), (2.0 + 5.0 * low, 2.0 + 5.0 * high), rtol=0.005)
    tail = min(stats.binom.sf(events - 1, n, rate), stats.binom.cdf(events, n, rate))
    position = found.position(2.0 + 5.0 * rate)
    assert_allclose(min(position, 1.0 - position), min(tail, 0.5), rtol=0.03)


def test_the_tilted_mean_of_unequal_rows_has_the_tails_of_all_their_sums():
    rng = np.random.default_rng(0)
    proba, values = rng.dirichlet([4, 2, 1], size=6), np.array([0.0, 1.0, 3.0])
    sums, chance = np.array([0.0]), np.array([1.0])
    for row in proba:
        sums, chance = (sums[:, None] + values).ravel(), (chance[:, None] * row).ravel()
    for observed in (0.0, 1.0, 4.0, 8.0, 18.0):
        found = TiltedMean([(proba[:2], values), (proba[2:], values)], observed / 6)
        tails = chance[sums >= observed - 1e-9].sum(), chance[sums <= observed + 1e-9].sum()
        position = found.position(float((proba @ values).mean()))
        assert_allclose(min(position, 1.0 - position), min(*tails, 0.5), atol=0.02)
