r"""Class frequencies of unlabelled rows, from calibrated probabilities.

Under label shift rows of a class look as they did, and only the frequencies of the classes change,
from :math:`\pi` to :math:`\rho`. With calibrated probabilities :math:`p_i` of row i the likelihood
of new frequencies is (Saerens, Latinne and Decaestecker, 2002)

.. math:: L(\rho) = \prod_i \sum_j \rho_j p_{ij} / \pi_j,

and EM finds its largest value. Here :math:`\rho` has a Dirichlet prior around the old frequencies,
:math:`\mathrm{Dir}(c \pi)`, and the mean of the posterior is taken, by variational Bayes (Attias,
2000): EM with digamma functions for logarithms. How far frequencies may move, c, is the one with
the largest evidence, of which variational Bayes gives a bound. Many new rows and a large shift lead
to a small c and to EM; where nothing has shifted c is large and the frequencies stay.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaln, logit, ndtri
from scipy.stats import chi2

from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray

__all__ = [
    "ClassFrequencies",
    "estimate_frequencies",
    "no_shift_pvalue",
    "weighted_chi_square_pvalue",
]


@dataclass(frozen=True)
class ClassFrequencies:
    """Posterior mean (k,) of the frequencies, their covariance (k, k), and the concentration c."""

    mean: FloatArray
    covariance: FloatArray
    concentration: float

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Ends (k,) of normal intervals, on the scale of log-odds where they stay inside by far.

        Next to zero or one, where log-odds know no bounds, they are cut off instead.
        """
        spread = np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))
        half = float(ndtri(0.5 + 0.5 * level)) * spread
        low, high = np.maximum(self.mean - half, 0.0), np.minimum(self.mean + half, 1.0)
        inside = (low > 0.0) & (high < 1.0)
        mean = self.mean[inside]
        of_odds = half[inside] / (mean * (1.0 - mean))
        low[inside], high[inside] = expit(logit(mean) - of_odds), expit(logit(mean) + of_odds)
        return low, high


def estimate_frequencies(proba: FloatArray, old: FloatArray) -> ClassFrequencies:
    """Of rows with calibrated probabilities (n, k), which were learned with frequencies (k,)."""
    limits = SHIFT_LIMITS.get()
    ratios = proba / old
    # Rows of the same scale whatever the ratios: only their directions count.
    ratios /= ratios.max(axis=1, keepdims=True)
    k = len(old)
    grid = np.geomspace(
        limits.max_concentration * k, limits.min_concentration * k, limits.n_concentrations
    )
    counts = len(proba) * old
    best = (-np.inf, counts, float(grid[0]))
    # From the narrowest prior on, each starts where the last one ended.
    for concentration in grid.tolist():
        counts, bound = _fit_counts(ratios, concentration * old, counts)
        if bound > best[0]:
            best = bound, counts, concentration
    _, counts, concentration = best
    mean = (counts + concentration * old) / (len(proba) + concentration)
    return ClassFrequencies(mean, _covariance(ratios, mean), concentration)


def _fit_counts(
    ratios: FloatArray, prior: FloatArray, counts: FloatArray
) -> tuple[FloatArray, float]:
    """Expected counts (k,) of the classes, and the bound of the logarithm of the evidence."""
    limits = SHIFT_LIMITS.get()
    n, total = len(ratios), float(prior.sum())
    for _ in range(limits.max_count_rounds):
        log_mean = digamma(prior + counts) - digamma(total + n)
        sums, last = ratios @ np.exp(log_mean), counts
        counts = np.exp(log_mean) * ((1.0 / sums) @ ratios)
        if np.abs(counts - last).max() <= limits.count_tol * n:
            break
    after = prior + counts
    log_mean_after = digamma(after) - digamma(total + n)
    bound = float(np.log(sums).sum() + gammaln(total) - gammaln(total + n))
    bound += float(np.sum(gammaln(after) - gammaln(prior) - counts * log_mean_after))
    return counts, bound


def _covariance(ratios: FloatArray, mean: FloatArray) -> FloatArray:
    """From the curvature of the likelihood, among frequencies that sum to one.

    That of the prior is left out: its width was learned from the same rows, and where it is narrow
    by mistake intervals would be so, too.
    """
    relative = ratios / (ratios @ mean)[:, None]
    inverse = np.linalg.pinv(relative.T @ relative, hermitian=True)
    pulled = inverse.sum(axis=1)
    covariance: FloatArray = inverse - np.outer(pulled, pulled) / pulled.sum()
    return covariance


def no_shift_pvalue(proba: FloatArray, old: FloatArray, n_old: float) -> float:
    r"""Of the hypothesis that rows (n, k) have the old frequencies, which come from ``n_old`` rows.

    The score of the likelihood at the old frequencies is the difference d of the mean probability
    and them. The statistic is :math:`\sum_j d_j^2 / \pi_j`, whose distribution is that of a
    weighted sum of chi-squares: one chi-square with the same first two moments stands for it
    (Satterthwaite, 1946), which needs no inverse of a covariance where classes outnumber rows.
    """
    difference = (proba.mean(axis=0) - old) / np.sqrt(old)
    scaled = (proba - proba.mean(axis=0)) / np.sqrt(old)
    factor = (1.0 / len(proba) + 1.0 / n_old) / max(len(proba) - 1, 1)
    return weighted_chi_square_pvalue(float(difference @ difference), factor * scaled.T @ scaled)


def weighted_chi_square_pvalue(statistic: float, covariance: FloatArray) -> float:
    """That the square of a normal vector is as large, by a chi-square with the same moments."""
    limits = SHIFT_LIMITS.get()
    mean = float(np.trace(covariance))
    half_variance = float(np.sum(covariance**2))
    if mean <= limits.min_variance:
        return 1.0 if statistic <= limits.min_variance else 0.0
    return float(chi2.sf(statistic * mean / half_variance, mean**2 / half_variance))
