"""The smooth error at its bounds; test_oracles.py has its definition."""

import numpy as np
import pytest

from dircal import metrics


@pytest.mark.parametrize("n", [1, 10, 1000])
@pytest.mark.parametrize("doubt", [1e-3, 1e-6, 1e-12])
def test_smooth_error_of_rows_that_are_right_and_sure(n, doubt):
    P = np.tile([1.0 - doubt, doubt], (n, 1))
    found = metrics.smooth_ece(np.zeros(n, dtype=int), P, classes=[0, 1])
    assert found == pytest.approx(doubt, rel=1e-6, abs=1e-13)
