"""Where confidences on an edge go."""

import numpy as np
import pytest

from dircal import metrics


@pytest.mark.parametrize("value", [0.4, 0.8, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_confidences_on_an_edge_share_a_bin_with_those_below(value, dtype):
    P = np.array([[value, 1 - value], [value - 0.01, 1.01 - value]], dtype=dtype)
    if value < 0.5:
        P = np.column_stack([P[:, :1], P[:, 1:] / 2, P[:, 1:] / 2])
    table = metrics.confidence_bins([0, 0], P, classes=range(P.shape[1]))
    assert table.count.max() == 2
