"""Rows with random signs against rows that are drawn."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from dircal._core.stats.bootstrap import RowTerms
from dircal._core.stats.multipliers import (
    SignedSums,
    scale_to_variances,
    sign_rows,
    signed_stride,
)
from dircal._core.stats.row_blocks import BLOCK_ROWS, RowBlocks


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
