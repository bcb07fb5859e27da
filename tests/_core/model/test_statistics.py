"""Statistics of curves, against their definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from dircal._core.model.statistics import KNOTS, N_OWN_KNOTS, N_STATISTICS, curve_statistics


def naive(scores, knots=KNOTS):
    """One entry after another, as the module says."""
    k, m = scores.shape
    found = np.empty((2 + len(knots), k, m))
    for row in range(m):
        s = log_softmax(scores[:, row])
        entropy = sum(-np.exp(s_i) * s_i for s_i in s) / np.log(k)
        for i in range(k):
            rest = np.logaddexp.reduce(np.delete(s, i))
            found[0, i, row] = (s[i] - s.max()) ** 2 / 10
            found[1, i, row] = entropy * s[i]
            for c, knot in enumerate(knots):
                found[2 + c, i, row] = np.logaddexp(0.0, s[i] - rest - knot)
    return found


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 1e3])
def test_statistics_are_their_definition(k, scale):
    scores = scale * np.random.default_rng(0).normal(size=(k, 30)) + 5.0
    before = scores.copy()
    found = curve_statistics(scores)
    assert found.shape == (N_STATISTICS, k, 30)
    assert_allclose(found, naive(scores), rtol=1e-9, atol=1e-12)
    assert (scores == before).all()


def test_huge_scores_are_finite_and_straight():
    scores = np.array([[1e6, -1e6, 0.0], [0.0, 0.0, 0.0], [-1e6, 1e5, 0.0]])
    found = curve_statistics(scores)
    assert_allclose(found, naive(scores), rtol=1e-12, atol=1e-12)
    # The leading class is 1e6 above the rest.
    assert_allclose(found[2:, 0, 0], 1e6 - np.array(KNOTS))


def test_single_precision_does_not_overflow():
    scores = np.random.default_rng(0).normal(scale=60.0, size=(3, 50))
    found = curve_statistics(scores.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, naive(scores), rtol=2e-4, atol=2e-4)


def test_a_shift_changes_nothing_and_relabelling_permutes():
    scores = np.random.default_rng(0).normal(scale=4.0, size=(5, 20))
    order = [3, 0, 4, 1, 2]
    found = curve_statistics(scores)
    assert_allclose(curve_statistics(scores + 100.0), found, rtol=1e-9, atol=1e-9)
    assert_allclose(curve_statistics(scores[order]), found[:, order], rtol=1e-12)


def test_ties_have_the_same_statistics():
    found = curve_statistics(np.array([[2.0, 0.0], [2.0, 0.0], [-1.0, 0.0]]))
    assert_allclose(found[:, 0], found[:, 1])
    assert_allclose(found[0, :2], 0.0)
    # A uniform row has all the entropy there is.
    assert_allclose(found[1, :, 1], -np.log(3.0))


def test_hinges_of_a_class_of_its_own_are_spread_over_the_range():
    assert sorted(KNOTS[-N_OWN_KNOTS:]) == [-6.0, -3.0, 0.0, 3.0]
    assert len(set(KNOTS)) == len(KNOTS) == N_STATISTICS - 2
