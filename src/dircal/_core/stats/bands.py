"""Where the frequencies of a reliability diagram would lie if the model were calibrated."""

import numpy as np

from dircal._core.stats.bins import Bins
from dircal._core.stats.null_resampling import count_distribution
from dircal._typing import FloatArray

__all__ = ["consistency_band"]


def consistency_band(values: FloatArray, bins: Bins, level: float) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest frequency (c, m) of each bin that chance explains; NaN where it is empty.

    If each row happens with its probability in ``values`` (c, n), the number of events in a bin
    has a Poisson-binomial distribution. The band holds its middle, with at least the probability
    ``level``. It is exact, so nothing is drawn at random.
    """
    low = np.full((len(values), bins.n_bins), np.nan)
    high = low.copy()
    for curve, index in enumerate(bins.index(values)):
        order = index.argsort(kind="stable")
        used, starts = np.unique(index[order], return_index=True)
        members = np.split(values[curve, order].clip(0.0, 1.0), starts[1:])
        for b, proba in zip(used, members, strict=True):
            counts = count_distribution(proba)
            below = counts.proba.cumsum()
            # Rounding may leave the sum a little below one.
            tails = np.searchsorted(below, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
            ends = counts.first + tails.clip(max=len(below) - 1)
            low[curve, b], high[curve, b] = ends / len(proba)
    return low, high
