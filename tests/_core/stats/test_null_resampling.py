"""Draws that are exact: against the distributions they stand for."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from dircal._core.stats.bins import equal_width
from dircal._core.stats.chances import ChanceSums, count_distribution
from dircal._core.stats.null_resampling import (
    LabelDraws,
    NullCells,
    draws_in_passes,
    null_classwise_ece,
    null_confidence_ece,
)
from dircal._core.stats.row_blocks import RowBlocks

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
def test_draws_do_not_depend_on_chunks(n, chunk_rows):
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
