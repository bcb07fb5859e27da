r"""The score test of very many rows: scores drawn from their covariance instead of from labels.

If the labels follow the probabilities, the score of a parameter is a sum over rows with mean zero,
and the covariance of the scores is the information: the Hessian of the loss, which the test needs
anyway. By the central limit theorem the sums are normal, and the statistic a chi-square, unless few
rows carry all information about a parameter, as where a model is nearly always sure. How far from
normal a score is its fourth cumulant tells, which is a sum over rows, too: that of a label which
happens with probability p is :math:`p (1 - p) (1 - 6 p (1 - p))`.
"""

from dataclasses import dataclass

import numpy as np

from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.simplex import softmax
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._core.stats.moments import draw_normal
from dircal._core.stats.score import ScoreSums, score_structure
from dircal._typing import FloatArray

__all__ = ["ScoreMoments", "score_moments", "sums_of_normal_scores"]


@dataclass
class ScoreMoments(AbstractSums):
    """Of rows whose weights sum to one: what the score test needs where scores are normal.

    Parameters
    ----------
    hessian : array (p, p)
        At the identity.
    gradient : array (p,)
        Of the labels.
    fourth : array (p,)
        Fourth cumulants of what rows add to the gradient, if labels follow the probabilities.
    """

    hessian: FloatArray
    gradient: FloatArray
    fourth: FloatArray

    def are_normal(self, n_rows: int) -> bool:
        """Whether the score of every parameter is normal, of so many rows."""
        limits = RESAMPLING_LIMITS.get()
        information = self.hessian.diagonal()
        used = information > limits.min_information
        excess = self.fourth[used] / (n_rows * information[used] ** 2)
        return bool((excess <= limits.max_excess_kurtosis).all())


def score_moments(chunk: Chunk) -> ScoreMoments:
    """Of rows (log-probabilities and labels); the weights of all chunks sum to one."""
    structure = score_structure(len(chunk.scores))
    scores, weight = chunk.scores, chunk.weight
    proba = softmax(scores.copy())
    hessian = structure.hessian(proba, weight, scores)
    variance = proba * (1.0 - proba)
    squares = scores * scores
    fourth = structure.adjoint(variance * (1.0 - 6.0 * variance) * weight, squares * squares)
    residual = proba
    residual[chunk.labels, np.arange(len(chunk.labels))] -= 1.0
    return ScoreMoments(hessian, structure.adjoint(residual * weight, scores), fourth)


def sums_of_normal_scores(
    moments: ScoreMoments, n_rows: int, n_resamples: int, rng: np.random.Generator
) -> ScoreSums:
    """The same sums as of labels that are drawn, with normal gradients of the same covariance."""
    drawn = draw_normal(moments.hessian / n_rows, n_resamples, rng)
    return ScoreSums(moments.hessian, np.vstack([moments.gradient, drawn]))
