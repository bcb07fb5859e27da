"""Log-probabilities after a temperature, mixed with the uniform distribution.

Mixing leaves no class without a probability. It is the sibling of label smoothing on the side of
the input: r = (1 - u) softmax(slope s) + u / k, with u the weight of the uniform distribution.
"""

import numpy as np

from dircal._typing import FloatArray

__all__ = [
    "mix_with_uniform",
    "shrink_row_mean",
    "uniform_weight",
    "weights_of_whole_scores",
]

_MOST = 1.0 - float(np.finfo(np.float64).eps)


def mix_with_uniform(
    scores: FloatArray, slope: float, weight: float, *, normalised: bool
) -> FloatArray:
    """Ln r of ``scores`` (k, m), in place, with ``weight`` u.

    Unless ``normalised``, a row is moved by ln sum(exp(slope s)), to where slope s was: with u = 0
    the result is then slope s, so that a linear map of it is a linear map of the scores.
    """
    scores *= slope
    top = scores.max(axis=0)
    scores -= top
    odds = np.exp(scores, out=scores)
    total = odds.sum(axis=0)
    # Nothing cancels in this sum, and a probability that underflows is nothing beside u / k.
    odds *= (1.0 - weight) / total
    odds += weight / len(scores)
    scores = np.log(odds, out=odds)
    if not normalised:
        scores += top
        scores += np.log(total)
    return scores


def shrink_row_mean(scores: FloatArray, factor: float) -> FloatArray:
    """Scores (k, m) of which each row keeps the part ``factor`` of its mean, in place."""
    if factor < 1.0:
        scores -= (1.0 - factor) * scores.mean(axis=0)
    return scores


def weights_of_whole_scores(weights: FloatArray, factor: float) -> FloatArray:
    """[W | b] for scores that does what ``weights`` do to those with a part of their row mean.

    That part multiplies the row means of W. What they have in common changes no probability, and
    stays as it is.
    """
    means = weights[:, :-1].mean(axis=1, keepdims=True)
    changed = weights.copy()
    changed[:, :-1] += (factor - 1.0) * (means - means.mean())
    return changed


def uniform_weight(n: float, surprise: float = 1.0) -> float:
    """The weight u of the uniform distribution for ``n`` rows: surprise / (n + 1), but never all.

    With a surprise of one that is Laplace's rule of succession for the event that a prediction
    without doubt was wrong.
    """
    return min(surprise / (n + 1.0), _MOST)
