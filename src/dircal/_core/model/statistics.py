r"""Statistics of a row beyond its log-probabilities, in which a map can bend.

With s the log-probabilities of a row, p = exp s, and x_i = ln p_i / (1 - p_i) the log-odds of
class i, each class has

* the squared gap to the leading class, (s_i - max s)^2 / 10;
* its score times the entropy of the row, H s_i, where H is 1 for the uniform row and 0 for a sure
  one: a temperature that changes with the doubt of a row;
* smooth hinges ln(1 + exp(x_i - c)) at eight log-odds c: together any smooth curve of x_i.

They are the same functions for every class, so that relabelling classes permutes them.
"""

from collections.abc import Sequence

import numpy as np

from dircal._core.data.simplex import rest_of_logits
from dircal._core.model.limits import MODEL_LIMITS
from dircal._typing import FloatArray

__all__ = ["GAP_SCALE", "KNOTS", "N_CURVATURES", "N_OWN_KNOTS", "N_STATISTICS", "curve_statistics"]

KNOTS = (-4.5, -1.5, 1.5, 4.5, -6.0, -3.0, 0.0, 3.0)
"""Log-odds at which hinges bend. The last ones may bend for each class by itself."""
N_OWN_KNOTS = 4
N_CURVATURES = 2
N_STATISTICS = N_CURVATURES + len(KNOTS)

GAP_SCALE = 10.0
"""A gap of ten nats counts as ten."""


def curve_statistics(scores: FloatArray, knots: Sequence[float] | FloatArray = KNOTS) -> FloatArray:
    """Statistics (d, k, m) of ``scores`` (k, m), which need not be normalised."""
    limits = MODEL_LIMITS.get()
    top = scores.max(axis=0)
    gap = scores - top
    odds = np.exp(gap)
    total = odds.sum(axis=0)
    log_total = np.log(total)
    result = np.empty((N_CURVATURES + len(knots), *scores.shape), dtype=scores.dtype)
    np.multiply(gap, gap, out=result[0])
    result[0] /= GAP_SCALE
    entropy = log_total - np.einsum("im,im->m", odds, gap) / total
    np.multiply(gap - log_total, entropy / np.log(len(scores)), out=result[1])
    log_odds = gap - rest_of_logits(gap, in_any_order=False)
    large = log_odds > limits.max_log_odds
    some = bool(large.any())
    odds = np.exp(np.minimum(log_odds, limits.max_log_odds))
    for hinge, knot in zip(result[N_CURVATURES:], knots, strict=True):
        np.log1p(np.multiply(odds, np.exp(-knot), out=hinge), out=hinge)
        if some:
            hinge[large] = np.logaddexp(0.0, log_odds[large] - knot)
    return result
