"""Consistency bands against the binomial distribution and against draws."""

import numpy as np
from scipy.stats import binom

from dircal._core.stats.bands import consistency_band
from dircal._core.stats.bins import equal_width
from dircal._core.stats.chances import ChanceSums

TEN = equal_width(10, np.dtype(np.float64))


def bands(values, level):
    """Lower and upper ends (c, m) of the bands of some curves."""
    found = [
        consistency_band(chances, 10, level) for chances in ChanceSums.of(values, TEN).finish()
    ]
    return np.array(found).transpose(1, 0, 2)


def test_equal_probabilities_give_the_binomial():
    values = np.full((1, 50), 0.35)
    low, high = bands(values, 0.9)
    assert low[0, 3] * 50 == binom.ppf(0.05, 50, 0.35)
    assert high[0, 3] * 50 == binom.ppf(0.95, 50, 0.35)
    assert np.isnan(np.delete(low, 3)).all()
    assert np.isnan(np.delete(high, 3)).all()


def test_sure_rows_leave_nothing_to_chance():
    low, high = bands(np.ones((1, 7)), 0.95)
    assert low[0, 9] == high[0, 9] == 1.0


def test_the_band_covers_what_it_says():
    rng = np.random.default_rng(0)
    values = rng.random((2, 400))
    low, high = bands(values, 0.9)
    index = TEN.index(values)
    for curve in range(2):
        for b in range(10):
            members = values[curve, index[curve] == b]
            drawn = (rng.random((4000, len(members))) < members).mean(axis=1)
            inside = np.mean((drawn >= low[curve, b]) & (drawn <= high[curve, b]))
            # At least the level, up to three standard errors of 4000 draws.
            assert inside > 0.9 - 3 * np.sqrt(0.09 / 4000)
            assert np.mean(drawn <= low[curve, b]) > 0.05 - 3 * np.sqrt(0.0475 / 4000)


def test_bins_of_each_curve():
    values = np.array([[0.1, 0.2, 0.8, 0.9], [0.5, 0.6, 0.7, 0.8]])
    both = bands(values, 0.5)
    for curve in range(2):
        alone = bands(values[[curve]], 0.5)
        np.testing.assert_array_equal(both[0][[curve]], alone[0])
        np.testing.assert_array_equal(both[1][[curve]], alone[1])


def test_without_rows_there_is_no_band():
    low, high = consistency_band([], 4, 0.9)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
