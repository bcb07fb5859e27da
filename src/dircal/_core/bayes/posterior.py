"""What the rows leave open: the spread of the log-odds under a Gaussian posterior."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.data.simplex import rest_of_proba
from dircal._core.optim.precondition import Preconditioner
from dircal._typing import FloatArray, IntArray

__all__ = ["ExactPosterior", "LowRankPosterior", "Posterior"]


class Posterior(Protocol):
    """A Gaussian distribution of the parameters of a map."""

    @property
    def n_entries(self) -> int:
        """Number of parameters."""

    def spread_of_log_odds(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        """Standard deviation (k, m) of ln p / (1 - p), for each class against the rest.

        ``proba`` (k, m) is what the best map makes of ``scores`` (k, m), below which the statistics
        of its curves are stacked, if it has any. The log-odds of class i move with the logits z
        like z_i less the mean of the others, weighed by their share.
        """


@dataclass(frozen=True)
class ExactPosterior:
    """With the whole covariance (p, p): of the rows of [W | b], then of the curves."""

    covariance: FloatArray

    @property
    def n_entries(self) -> int:
        """Number of parameters."""
        return len(self.covariance)

    def spread_of_log_odds(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        """Standard deviation (k, m) of the log-odds."""
        k, n_rows = proba.shape
        places = self._places(k, len(scores) // k - 1)
        spread = np.empty_like(proba)
        step = max(1, BAYES_LIMITS.get().max_product_elements // (k * places.size))
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            spread[:, part] = self._spread(proba[:, part], scores[:, part], places)
        return spread

    def _places(self, k: int, n_shared: int) -> IntArray:
        """Parameters (k, q) that move the logit of each class."""
        n_linear = k * (k + 1)
        shared = np.tile(np.arange(n_linear, n_linear + n_shared), (k, 1))
        own = np.arange(n_linear + n_shared, self.n_entries).reshape(k, -1)
        return np.column_stack([np.arange(n_linear).reshape(k, k + 1), shared, own])

    def _spread(self, proba: FloatArray, scores: FloatArray, places: IntArray) -> FloatArray:
        k, n_rows = proba.shape
        blocks = scores.reshape(-1, k, n_rows)
        linear = np.vstack([blocks[0], np.ones(n_rows)])
        n_own = places.shape[1] - (k + 1) - (len(blocks) - 1)
        features = np.empty((k, places.shape[1], n_rows))
        features[:, : k + 1] = linear
        features[:, k + 1 :] = np.concatenate(
            [blocks[1:], blocks[len(blocks) - n_own :]]
        ).transpose(1, 0, 2)
        of_logits = np.empty((k, k, n_rows))
        covariance = self.covariance[places.ravel()]
        for j in range(k):
            moved = covariance[:, places[j]] @ features[j]
            of_logits[:, j] = np.einsum("iam,iam->im", features, moved.reshape(features.shape))
        rest = _rest(proba)
        variance = np.empty_like(proba)
        for i in range(k):
            contrast = -proba / rest[i]
            contrast[i] = 1.0
            moved = np.einsum("ijm,jm->im", of_logits, contrast)
            variance[i] = np.einsum("im,im->m", contrast, moved)
        spread: FloatArray = np.sqrt(np.maximum(variance, 0.0))
        return spread


@dataclass(frozen=True)
class LowRankPosterior:
    """Covariance of the linear part, diagonal plus low rank, by Woodbury's identity.

    It is the preconditioner of the mean loss of ``n`` rows, divided by n.
    """

    inverse: Preconditioner
    n: float

    @property
    def n_entries(self) -> int:
        """Number of parameters of the linear map."""
        return len(self.inverse.means)

    def spread_of_log_odds(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        """Standard deviation (k, m) of the log-odds."""
        plain = scores[: len(proba)]
        own = self._sums(self.inverse.inverse, plain**2)
        means = self._sums(self.inverse.means, plain)
        coupling, rest = self.inverse.coupling, _rest(proba)
        leading = proba.argmax(axis=0)[None]
        contrast = -proba / np.take_along_axis(rest, leading, axis=0)
        np.put_along_axis(contrast, leading, 1.0, axis=0)
        # Beside a leading class the others may be next to nothing, and lost in these differences.
        np.put_along_axis(rest, leading, 1.0, axis=0)
        # Sums over the other classes, each divided by what these have together.
        of_rest = rest_of_proba(proba**2 * own) / rest**2
        shares = proba * means
        coupled = coupling @ shares
        each = coupling.diagonal()[:, None]
        others = coupled - each * shares
        between = np.einsum("im,im->m", shares, coupled) - 2.0 * shares * others
        between -= each * shares**2
        known = each * means**2 - 2.0 * means * others / rest + between / rest**2
        variance = own + of_rest - known
        np.put_along_axis(variance, leading, self._variance(contrast, own, means), axis=0)
        spread: FloatArray = np.sqrt(np.maximum(variance, 0.0) / self.n)
        return spread

    def _variance(self, contrast: FloatArray, own: FloatArray, means: FloatArray) -> FloatArray:
        """That of one contrast of the logits in each row, (1, m), n times as large."""
        moved = contrast * means
        known = np.einsum("im,im->m", moved, self.inverse.coupling @ moved)
        variance: FloatArray = np.einsum("im,im,im->m", contrast, contrast, own) - known
        return variance[None]

    def _sums(self, entries: FloatArray, scores: FloatArray) -> FloatArray:
        """Entries of each class times its scores and a one, (k, m)."""
        k = len(scores)
        if len(entries) == 2 * k:
            return entries[:k, None] * scores + entries[k:, None]
        table = entries.reshape(k, k + 1)
        return table[:, :-1] @ scores + table[:, -1:]


def _rest(proba: FloatArray) -> FloatArray:
    return np.maximum(rest_of_proba(proba), np.finfo(np.float64).tiny)
