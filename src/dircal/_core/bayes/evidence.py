r"""Empirical Bayes: how far each group of entries may go from a multiple of the identity.

The entries :math:`\theta` of [W | b] - [c I | 0] fall into groups g and have a Gaussian prior of
precision :math:`\alpha_g`. With L the summed loss and H its Hessian at the optimum of
:math:`L + \frac12 \sum_g \alpha_g \|\theta_g\|^2`, the logarithm of the evidence, the marginal
likelihood, is by Laplace's approximation

.. math::

    -L - \tfrac12 \sum_g \alpha_g \|\theta_g\|^2 + \tfrac12 \sum_g N_g \ln \alpha_g
    - \tfrac12 \ln \det (H + \mathrm{diag}\,\alpha),

with :math:`N_g` the number of entries. It is largest where :math:`\alpha_g = \gamma_g /
\|\theta_g\|^2`; here :math:`\gamma_g = N_g - \alpha_g \mathrm{tr}\,(H + \mathrm{diag}\,
\alpha)^{-1}_{gg}` are the effective degrees of freedom, the number of entries that the rows
determine (MacKay, 1992). A gamma prior of the precision with its mode at :math:`\alpha_g^0`, worth
2a entries, makes that

.. math:: \alpha_g = (\gamma_g + 2a) / (\|\theta_g\|^2 + 2a / \alpha_g^0).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dircal._core.bayes.posterior import ExactPosterior, LowRankPosterior, Posterior
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import SUM_ROUNDING
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import GROUPS, group_of_entries, towards_identity
from dircal._core.model.structure import Full
from dircal._core.optim.newton import Iteration, Solution, minimise, with_history
from dircal._core.optim.path import PathSolver
from dircal._core.optim.precondition import make_preconditioner
from dircal._typing import FloatArray, IntArray

__all__ = [
    "Curvature",
    "GroupFit",
    "GroupedGaussianPrior",
    "evidence_of_one_step",
    "maximise_evidence",
]

# Strength a of the prior of the precisions: it gives way to a few dozen entries that the rows
# determine, and holds where they determine next to none.
_STRENGTH = 2.0
# Precisions have converged when no logarithm changes by more than this.
_TOLERANCE = 1e-6
_ROUNDS = 20
# With the curvature held, rounds cost little; the first ones need not be exact.
_FIRST_TOLERANCE = 1e-2
_ROUNDS_INSIDE = 100
# Curvature that is estimated is not worth many rounds.
_TOLERANCE_OF_ESTIMATES = 1e-2
_ROUNDS_OF_ESTIMATES = 4
# Classes whose blocks of the Hessian stand for all.
_BLOCKS = 16
# How close to its best the objective has to be in all rounds but the last.
_LOOSE = 1e-7


@dataclass(frozen=True)
class GroupedGaussianPrior:
    """Gaussian priors of groups around [slope * I | 0], with the precisions ``mode`` (3,)."""

    mode: FloatArray
    slope: float


@dataclass(frozen=True)
class GroupFit:
    """The best map with its precisions (3,) and effective parameters (3,), by ``GROUPS``."""

    solution: Solution
    precisions: FloatArray
    effective_dof: FloatArray
    log_evidence: float
    posterior: Posterior


@dataclass(frozen=True)
class Curvature:
    """The Hessian of the summed loss around a point, as blocks (c, q, q) on its diagonal.

    ``group`` (c, q) is the group of each entry in a block, ``theta`` (c, q) its distance from the
    centre of the prior, the optimum where the precisions are ``at`` (3,). Of all entries, also
    those in no block, ``sizes`` (3,) are the numbers and ``squares`` (3,) the squared distances.

    One block with all entries is the whole truth, and its ``share`` is 1. Blocks of single classes
    leave out what ties classes together. That is least by a factor of 1 - 1/k: the common shift of
    all classes, about which rows say nothing. So blocks are divided by this share, and what they
    determine is multiplied by it, which is exact where all classes are equally probable.

    In directions that no row has, such as the common shift of all classes, the Hessian is nothing
    but rounding errors. Precisions are held above these, at ``least``.
    """

    blocks: FloatArray
    group: IntArray
    theta: FloatArray
    at: FloatArray
    sizes: FloatArray
    squares: FloatArray
    share: float
    least: float = 0.0

    def effective_dof(self, precisions: FloatArray) -> FloatArray:
        """Number of entries (3,) that the rows determine."""
        return self._effective_dof(precisions, self._inverse(precisions))

    def log_determinant(self, precisions: FloatArray) -> float:
        """Logarithm of the determinant of the Hessian plus the precisions."""
        prior = float(self.sizes @ np.log(precisions))
        scale = self.sizes.sum() / self.group.size
        of_blocks = scale * float(np.linalg.slogdet(self._system(precisions))[1].sum())
        of_prior = scale * float(np.log(precisions[self.group]).sum())
        return prior + self.share * float(of_blocks - of_prior)

    def best_precisions(self, mode: FloatArray, tolerance: float) -> FloatArray:
        """The fixed point (3,), with the loss taken as a parabola."""
        pull = np.einsum("cij,cj->ci", self.blocks, self.theta) + self.at[self.group] * self.theta
        here = self._by_group(self.theta**2)
        # Entries that are exactly at the centre stay there.
        squares = self.squares / np.where(here > 0.0, here, 1.0)
        precisions = self.at
        for _ in range(_ROUNDS_INSIDE):
            inverse = self._inverse(precisions)
            moved = np.einsum("cij,cj->ci", inverse, pull)
            last = precisions
            best = (self._effective_dof(last, inverse) + 2.0 * _STRENGTH) / (
                squares * self._by_group(moved**2) + 2.0 * _STRENGTH / mode
            )
            precisions = np.maximum(best, self.least)
            if np.abs(np.log(precisions / last)).max() <= tolerance:
                break
        return precisions

    def _system(self, precisions: FloatArray) -> FloatArray:
        system = self.blocks.copy()
        every = np.arange(system.shape[1])
        system[:, every, every] += precisions[self.group]
        return system

    def _inverse(self, precisions: FloatArray) -> FloatArray:
        return np.linalg.inv(self._system(precisions)).astype(np.float64, copy=False)

    def _effective_dof(self, precisions: FloatArray, inverse: FloatArray) -> FloatArray:
        variances = self._by_group(np.diagonal(inverse, axis1=1, axis2=2))
        known = 1.0 - precisions * variances / self._by_group(np.ones(self.group.shape))
        return self.share * self.sizes * known

    def _by_group(self, values: FloatArray) -> FloatArray:
        return _sums(self.group, values)


def maximise_evidence(
    rows: Rows, prior: GroupedGaussianPrior, *, learn: bool, tol: float, max_iter: int
) -> GroupFit:
    """The map softmax(W s + b) with the precisions of the prior, or with learned ones near them.

    Rounds of two: the optimum for given precisions, then the best precisions for its curvature.
    """
    state = EvidenceState(rows, prior.slope, max(tol, _LOOSE), max_iter)
    precisions = np.maximum(prior.mode, state.least)
    history: list[Iteration] = []
    inside = _FIRST_TOLERANCE
    for _ in range(state.n_rounds if learn else 0):
        history += state.solve(precisions).history
        last = precisions
        precisions = state.curvature(last).best_precisions(prior.mode, inside)
        inside = max(0.01 * inside, 0.1 * state.tolerance)
        if np.abs(np.log(precisions / last)).max() <= state.tolerance:
            break
    objective = state.objective(precisions)
    solution = minimise(objective, state.path.params, tol=tol, max_iter=max_iter)
    state.path.linearise_at(solution.params)
    curvature = state.curvature(precisions)
    of_prior = float(curvature.sizes @ np.log(precisions))
    evidence = -rows.total_weight * solution.loss
    evidence += 0.5 * (of_prior - curvature.log_determinant(precisions))
    return GroupFit(
        with_history(solution, history),
        precisions,
        curvature.effective_dof(precisions),
        evidence,
        state.posterior(precisions),
    )


def evidence_of_one_step(rows: Rows, prior: GroupedGaussianPrior) -> float:
    """Logarithm of the evidence, with the loss around the centre taken as a parabola."""
    state, n = EvidenceState(rows, prior.slope, 0.0, 1), rows.total_weight
    at = state.likelihood.evaluate(state.path.params)
    gradient = n * at.gradient
    precisions = np.maximum(prior.mode, state.least)
    factor = cho_factor(state.system(precisions), lower=True, check_finite=False)
    gained = 0.5 * float(gradient @ cho_solve(factor, gradient, check_finite=False))
    log_determinant = 2.0 * float(np.log(factor[0].diagonal()).sum())
    of_prior = float(np.log(precisions[state.group]).sum())
    return gained - n * at.loss + 0.5 * (of_prior - log_determinant)


class EvidenceState:
    """The likelihood, and where fits and precisions in turns have come to: first the centre."""

    def __init__(self, rows: Rows, slope: float, tol: float, max_iter: int) -> None:
        k = rows.n_classes
        self.rows = rows
        self.structure = Full(k, k)
        self.likelihood = Likelihood(rows, self.structure)
        self.group = group_of_entries(k)
        self.slope = slope
        self.least = SUM_ROUNDING * rows.total_weight * max(rows.largest, 1.0) ** 2
        self.centre = slope * np.eye(k, k + 1)
        start = self.structure.pack(self.centre)
        self.path = PathSolver(self.likelihood, start, False, tol, max_iter)
        if self.path.forms_hessian:
            self.n_rounds, self.tolerance = _ROUNDS, _TOLERANCE
        else:
            self.n_rounds, self.tolerance = _ROUNDS_OF_ESTIMATES, _TOLERANCE_OF_ESTIMATES
            mass = self.likelihood.linearise(start, np.float64).moments.mass
            self.chosen = _spread_by_mass(mass)

    @property
    def hessian(self) -> FloatArray:
        """That of the mean loss at the last linearisation, where it is formed."""
        assert self.likelihood.hessian is not None
        return self.likelihood.hessian

    def objective(self, precisions: FloatArray) -> Objective:
        """Mean loss plus the part of the prior."""
        halved = precisions / (2.0 * self.rows.total_weight)
        penalty = towards_identity(self.rows.n_classes, halved, self.slope)
        return Objective(self.likelihood, penalty)

    def solve(self, precisions: FloatArray) -> Solution:
        """Go to the optimum and linearise there."""
        found = self.path.solve(self.objective(precisions))
        self.path.linearise_at(found.params)
        return found

    def curvature(self, precisions: FloatArray) -> Curvature:
        """The Hessian at the last linearisation: all of it, or blocks of some classes."""
        k, n = self.rows.n_classes, self.rows.total_weight
        group, theta = self.group, self.path.params.reshape(k, k + 1) - self.centre
        sizes, squares = _sums(group, np.ones(group.shape)), _sums(group, theta**2)
        if self.path.forms_hessian:
            blocks, share = n * self.hessian[None], 1.0
            group, theta = group.reshape(1, -1), theta.reshape(1, -1)
        else:
            share = 1.0 - 1.0 / k
            # A few digits will do for an estimate.
            small = Likelihood(self.rows.as_float32(), self.structure)
            blocks = n / share * small.blocks_of_classes(self.path.params, self.chosen)
            group, theta = group[self.chosen], theta[self.chosen]
        return Curvature(blocks, group, theta, precisions, sizes, squares, share, self.least)

    def system(self, precisions: FloatArray) -> FloatArray:
        """The whole Hessian of the summed loss, where it is formed, plus the precisions."""
        prior = np.diag(precisions[self.group].ravel())
        return self.rows.total_weight * self.hessian + prior

    def posterior(self, precisions: FloatArray) -> Posterior:
        """The Gaussian approximation at the last linearisation."""
        if self.path.forms_hessian:
            covariance = np.linalg.inv(self.system(precisions))
            return ExactPosterior(covariance.astype(np.float64, copy=False))
        moments = self.likelihood.linearise(self.path.params, np.float64).moments
        prior = self.objective(precisions).penalty_hessian
        inverse = make_preconditioner(moments, self.structure.param_class, prior)
        return LowRankPosterior(inverse, self.rows.total_weight)


def _sums(group: IntArray, values: FloatArray) -> FloatArray:
    """Sum of the values in each group (3,)."""
    sums = np.bincount(group.ravel(), values.ravel(), len(GROUPS))
    return sums.astype(np.float64, copy=False)


def _spread_by_mass(mass: FloatArray) -> IntArray:
    """Some classes, from the rarest to the most frequent, whatever their order."""
    n_chosen = min(_BLOCKS, len(mass))
    places = ((np.arange(n_chosen) + 0.5) * len(mass) / n_chosen).astype(np.intp)
    chosen: IntArray = np.argsort(mass, kind="stable")[places]
    return chosen
