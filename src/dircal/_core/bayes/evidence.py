r"""Empirical Bayes: how far each group of parameters may go from the temperature map.

The parameters :math:`\theta`, distances from that map, fall into groups g and have a Gaussian prior
of precision :math:`\alpha_g`. With L the summed loss and H its Hessian at the optimum of
:math:`L + \frac12 \sum_g \alpha_g \|\theta_g\|^2`, the logarithm of the evidence, the marginal
likelihood, is by Laplace's approximation

.. math::

    -L - \tfrac12 \sum_g \alpha_g \|\theta_g\|^2 + \tfrac12 \sum_g N_g \ln \alpha_g
    - \tfrac12 \ln \det (H + \mathrm{diag}\,\alpha),

with :math:`N_g` the number of parameters. It is largest where :math:`\alpha_g = \gamma_g /
\|\theta_g\|^2`; here :math:`\gamma_g = N_g - \alpha_g \mathrm{tr}\,(H + \mathrm{diag}\,
\alpha)^{-1}_{gg}` are the effective degrees of freedom, the number of parameters that the rows
determine (MacKay, 1992). A gamma prior of the precision with its mode at :math:`\alpha_g^0`, worth
2a parameters, makes that

.. math:: \alpha_g = (\gamma_g + 2a) / (\|\theta_g\|^2 + 2a / \alpha_g^0).

Off-diagonal entries have variances as a power of how often the two classes compete, and that power
is the one with the largest evidence.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.prior import GroupedGaussianPrior
from dircal._core.bayes.state import EvidenceState, GroupFit, least_precision
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Evaluation

__all__ = [
    "evidence_of_one_step",
    "evidence_of_rough_fit",
    "fit_as_expected",
    "maximise_evidence",
]


def maximise_evidence(
    rows: Rows, prior: GroupedGaussianPrior, *, tol: float, max_iter: int
) -> GroupFit:
    """The map with learned precisions near those of the prior."""
    state = EvidenceState(rows, prior, tol, max_iter)
    return state.with_posterior(state.finish(state.learn(prior), tol))


def fit_as_expected(
    rows: Rows, prior: GroupedGaussianPrior, *, tol: float, max_iter: int
) -> GroupFit:
    """The map with the precisions of the prior."""
    state = EvidenceState(rows, prior, tol, max_iter)
    return state.with_posterior(state.finish(state.held(prior), tol))


def evidence_of_rough_fit(
    rows: Rows, prior: GroupedGaussianPrior, *, tol: float, max_iter: int
) -> float:
    """Logarithm of the evidence of the map with learned precisions, which need not be exact.

    The evidence is stationary in the precisions, so that errors in them are of second order.
    """
    state = EvidenceState(rows, prior, tol, max_iter)
    state.tolerance = state.inside_tolerance = BAYES_LIMITS.get().estimated_precision_tol
    return state.finish(state.learn(prior), tol).log_evidence


def evidence_of_one_step(rows: Rows, prior: GroupedGaussianPrior, at_centre: Evaluation) -> float:
    """Logarithm of the evidence, with the loss around the centre taken as a parabola.

    ``at_centre`` is the mean loss there, with its Hessian.
    """
    assert at_centre.hessian is not None
    n, gradient = rows.total_weight, rows.total_weight * at_centre.gradient
    weights = np.maximum(prior.mode, least_precision(rows, prior.structure))[prior.group]
    system = n * at_centre.hessian + np.diag(weights)
    factor = cho_factor(system, lower=True, check_finite=False)
    gained = 0.5 * float(gradient @ cho_solve(factor, gradient, check_finite=False))
    log_determinant = 2.0 * float(np.log(factor[0].diagonal()).sum())
    return gained - n * at_centre.loss + 0.5 * (float(np.log(weights).sum()) - log_determinant)
