"""Where the frequencies of a reliability diagram would lie if the model were calibrated."""

from collections.abc import Sequence

import numpy as np

from dircal._core.stats.chances import BinChance
from dircal._typing import FloatArray

__all__ = ["consistency_band"]


def consistency_band(
    chances: Sequence[BinChance], n_bins: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest frequency (m,) of each bin that chance explains; NaN where it is empty.

    If each row happens with its probability, the number of events in a bin has a Poisson-binomial
    distribution. The band holds its middle, with at least the probability ``level``. It is exact,
    so nothing is drawn at random.
    """
    low, high = np.full((2, n_bins), np.nan)
    for chance in chances:
        below = chance.counts.proba.cumsum()
        # Rounding may leave the sum a little below one.
        tails = np.searchsorted(below, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        ends = chance.counts.first + tails.clip(max=len(below) - 1)
        low[chance.position], high[chance.position] = ends / chance.n_rows
    return low, high
