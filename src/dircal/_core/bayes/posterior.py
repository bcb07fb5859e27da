"""What the rows leave open: the spread of the log-odds under a Gaussian posterior."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dircal._core.data.simplex import rest_of_proba
from dircal._core.optim.precondition import Preconditioner
from dircal._typing import FloatArray

__all__ = ["ExactPosterior", "LowRankPosterior", "Posterior"]

# Elements of the array of products of a covariance with rows.
_ELEMENTS = 2_000_000


class Posterior(Protocol):
    """A Gaussian distribution of the entries of [W | b]."""

    def spread_of_log_odds(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        """Standard deviation (k, m) of ln p / (1 - p), for each class against the rest.

        ``proba`` (k, m) is what the best map makes of ``scores`` (k, m). The log-odds of class i
        move with the logits z like z_i less the mean of the others, weighed by their share.
        """


@dataclass(frozen=True)
class ExactPosterior:
    """With the whole covariance (p, p) of the rows of [W | b]."""

    covariance: FloatArray

    @property
    def n_entries(self) -> int:
        """Number of entries of [W | b]."""
        return len(self.covariance)

    def spread_of_log_odds(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        """Standard deviation (k, m) of the log-odds."""
        k, n_rows = scores.shape
        spread = np.empty_like(proba)
        step = max(1, _ELEMENTS // (k**2 * (k + 1)))
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            spread[:, part] = self._spread(proba[:, part], scores[:, part])
        return spread

    def _spread(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        k, n_rows = scores.shape
        features = np.vstack([scores, np.ones(n_rows)])
        products = (self.covariance.reshape(-1, k + 1) @ features).reshape(k, k + 1, k, n_rows)
        of_logits = np.einsum("am,iajm->ijm", features, products, optimize=True)
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
    """Covariance of diagonal plus low rank, by Woodbury's identity.

    It is the preconditioner of the mean loss of ``n`` rows, divided by n.
    """

    inverse: Preconditioner
    n: float

    @property
    def n_entries(self) -> int:
        """Number of entries of [W | b]."""
        return len(self.inverse.means)

    def spread_of_log_odds(self, proba: FloatArray, scores: FloatArray) -> FloatArray:
        """Standard deviation (k, m) of the log-odds."""
        k, n_rows = scores.shape
        features = np.vstack([scores, np.ones(n_rows)])
        own = self.inverse.inverse.reshape(k, k + 1) @ features**2
        means = self.inverse.means.reshape(k, k + 1) @ features
        coupling, rest = self.inverse.coupling, _rest(proba)
        # Sums over the other classes, each divided by what these have together.
        of_rest = rest_of_proba(proba**2 * own) / rest**2
        shares = proba * means
        coupled = coupling @ shares
        each = coupling.diagonal()[:, None]
        others = coupled - each * shares
        between = np.einsum("im,im->m", shares, coupled) - 2.0 * shares * others
        between -= each * shares**2
        known = each * means**2 - 2.0 * means * others / rest + between / rest**2
        # Differences of large numbers are lost where one class has all the mass.
        variance = np.clip(own + of_rest - known, 0.0, own + of_rest)
        spread: FloatArray = np.sqrt(variance / self.n)
        return spread


def _rest(proba: FloatArray) -> FloatArray:
    return np.maximum(rest_of_proba(proba), np.finfo(np.float64).tiny)
