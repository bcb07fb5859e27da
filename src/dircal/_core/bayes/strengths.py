r"""The strengths of ODIR learned by evidence, in the place of a grid and folds.

A quadratic penalty is minus the logarithm of a Gaussian prior. With the mean loss over n rows and
the weight v of a squared entry, the precision of the entry is :math:`2 n v`. So the strengths
:math:`\lambda` and :math:`\mu` of off-diagonal entries and intercepts are the precisions of two
groups, and those with the largest evidence are found as in `evidence`.

ODIR leaves the diagonal free. With few rows that is ruin, as each class without an error goes to
infinity. So where strengths are learned, the diagonal has a prior too, around the slope a of the
temperature map, and a strength :math:`\nu` that is learned with the others:

.. math:: \frac{\lambda}{k (k - 1)} \sum_{i \ne j} w_{ij}^2 + \frac{\mu}{k} \sum_j b_j^2
    + \frac{\nu}{k} \sum_i (w_{ii} - a)^2.

Where the rows say nothing all three are large, and the map is the temperature map.
"""

from dataclasses import dataclass, replace

import numpy as np

from dircal._core.bayes.features import RowMoments
from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.prior import full_prior
from dircal._core.bayes.slope import most_probable_slope
from dircal._core.bayes.state import EvidenceState
from dircal._core.data.rows import Rows
from dircal._core.model.penalty import Penalty, off_diagonal
from dircal._typing import FloatArray

__all__ = ["LearnedStrengths", "learn_strengths"]


@dataclass(frozen=True)
class LearnedStrengths:
    """Strengths in the units of the formula above, and the slope a."""

    lam: float
    mu: float
    nu: float
    slope: float

    def table(self, n_classes: int) -> Penalty:
        """Weights and centres of the entries of [W | b]."""
        free = off_diagonal(n_classes, self.lam, self.mu)
        every = np.arange(n_classes)
        free.weight[every, every] = self.nu / n_classes
        free.centre[every, every] = self.slope
        return free


@dataclass(frozen=True)
class _Scaled:
    """Scores less a number, times a slope."""

    slope: float
    shift: float

    is_increasing = True

    def __call__(self, scores: FloatArray) -> FloatArray:
        scores -= self.shift
        scores *= self.slope
        return scores


def learn_strengths(
    rows: Rows, *, slope: float, lam: float | None, mu: float | None, max_iter: int
) -> LearnedStrengths:
    """The strengths with the largest evidence for clipped rows; one that is given stays.

    ``slope`` is near that of the temperature map.
    """
    limits = BAYES_LIMITS.get()
    k, n = rows.n_classes, rows.total_weight
    centre = most_probable_slope(
        rows, start=slope, tol=limits.strength_tol, max_iter=max_iter
    ).slope
    # What is expected holds for scores that matter; slopes next to nothing would wipe them out.
    moments = RowMoments.of(rows)
    least = moments.least_slope(rows.largest)
    read = max(centre, least)
    # Scores that hardly differ are read around their mean, beside which they would be rounding.
    shift = moments.mean if least > centre else 0.0
    # From a weight of squared entries to a precision of entries that act on scores times `read`.
    units = 2.0 * n * np.array([read**2 / k, read**2 / (k * (k - 1.0)), 1.0 / k])
    mode = np.array(limits.odir_modes) * np.array([k, k * (k - 1.0), k])
    given = (None, lam, mu)
    held = np.array([each is not None for each in given])
    for i, each in enumerate(given):
        if each is not None:
            mode[i] = min(float(each), limits.max_precision / units[i]) * units[i]
    scaled = replace(rows, transform=_Scaled(read, shift))
    prior = replace(
        full_prior(k, mode, centre / read), strength=limits.odir_prior_strength, held=held
    )
    state = EvidenceState(scaled, prior, limits.strength_tol, max_iter)
    found = state.learn(replace(prior, mode=np.maximum(mode, state.least)))
    nu, learned_lam, learned_mu = (found.precisions / units).tolist()
    return LearnedStrengths(
        learned_lam if lam is None else float(lam),
        learned_mu if mu is None else float(mu),
        nu,
        centre,
    )
