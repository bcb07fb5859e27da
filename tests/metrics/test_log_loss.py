"""The log-loss at its bounds; test_oracles.py has its definition."""

import numpy as np
import pytest

from dircal import metrics


def test_a_sure_miss_costs_what_the_paper_says():
    assert metrics.log_loss([0, 1], [[0.0, 1.0], [0.0, 1.0]]) == pytest.approx(
        34.5388 / 2, rel=1e-5
    )
    single = np.array([[0.0, 1.0], [0.0, 1.0]], dtype=np.float32)
    assert metrics.log_loss([0, 1], single) == pytest.approx(34.5388 / 2, rel=1e-5)
    assert metrics.log_loss([1], [[0.0, 1.0]], classes=[0, 1]) == 0.0
