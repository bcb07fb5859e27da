import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from dircal._core.data.simplex import (
    normalise_beyond_rounding,
    rest_of_logits,
    rest_of_proba,
    sums_of_columns,
)


def test_sums_do_not_depend_on_other_columns():
    """One column by itself has the same last digit as among others."""
    block = np.random.default_rng(0).random((57, 200))
    together = sums_of_columns(block)
    alone = [sums_of_columns(block[:, [i]])[0] for i in range(200)]
    assert_array_equal(together, alone)
    assert_allclose(together, block.sum(axis=0), rtol=1e-14)


def test_columns_that_sum_to_one_but_for_rounding_stay():
    block = np.array([[0.8, 0.8, 0.4], [0.2, 0.2 + 1e-9, 0.4]])
    kept = normalise_beyond_rounding(block.copy(), 1e-6)
    assert_array_equal(kept[:, :2], block[:, :2])
    assert_allclose(kept[:, 2], 0.5)


def test_the_rest_of_a_sure_class_keeps_its_digits():
    block = np.array([[1.0, 0.5, 0.2], [1e-20, 0.5, 0.2], [3e-20, 0.0, 0.6]])
    rest = rest_of_proba(block)
    assert_allclose(rest[:, 0], [4e-20, 1.0, 1.0], rtol=1e-14)
    assert_allclose(rest[:, 1], [0.5, 0.5, 1.0], rtol=1e-14)
    assert_allclose(rest[:, 2], [0.8, 0.8, 0.4], rtol=1e-14)


def test_the_rest_of_logits_does_not_underflow():
    rest = rest_of_logits(np.array([[0.0], [-2000.0], [-2000.0]]))
    assert_allclose(rest[:, 0], [-2000.0 + np.log(2.0), 0.0, 0.0], rtol=1e-14)


def test_the_rest_of_logits_does_not_depend_on_their_order():
    rng = np.random.default_rng(0)
    block = np.round(2.0 * rng.normal(size=(6, 500))) / 2.0
    order = rng.permutation(6)
    assert (rest_of_logits(block[order]) == rest_of_logits(block)[order]).all()


def test_the_rest_of_logits_leaves_masked_classes_out():
    block = np.array([[0.0, 3.0, 1.0], [-np.inf, -np.inf, 2.0], [1.0, -np.inf, -np.inf]])
    rest = rest_of_logits(block)
    assert_allclose(rest[:, 0], [1.0, np.logaddexp(0.0, 1.0), 0.0], rtol=1e-14)
    assert_allclose(rest[:, 1], [-np.inf, 3.0, 3.0], rtol=1e-14)
    assert_allclose(rest[:, 2], [2.0, 1.0, np.logaddexp(1.0, 2.0)], rtol=1e-14)
