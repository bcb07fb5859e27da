"""Where probabilities of classes on an edge go."""

import warnings

import numpy as np
from numpy.testing import assert_allclose

from dircal import metrics


def test_rounded_sums_do_not_push_a_value_over_its_edge():
    P = np.array([[0.1, 0.6, 0.2, 0.1]])
    # The sum falls short of one by a rounding error, and dividing by it would leave the bin.
    assert P.sum() < 1.0
    assert 0.6 / P.sum() > 0.6
    table = metrics.class_bins([1], P, classes=range(4))
    assert table.count[1, 8] == 1
    assert table.count[2, 2] == 1


def test_rows_of_half_precision_stay_on_their_edges():
    P = np.array([[0.8, 0.1, 0.1], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]], dtype=np.float16)
    assert (P.astype(float).sum(axis=1) != 1.0).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is renormalised
        table = metrics.class_bins([0, 1, 2], P)
    expected = metrics.class_bins([0, 1, 2], P.astype(float).round(1))
    assert_allclose(table.count, expected.count)
