"""Where fits and precisions in turns have come to, on the way to the largest evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dircal._core.bayes.curvature import Blocks, Curvature
from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.posterior import ExactPosterior, LowRankPosterior, Posterior
from dircal._core.bayes.prior import GroupedGaussianPrior
from dircal._core.bayes.sample import (
    blocks_of_classes,
    evaluate_with_moments,
    hessian_of_shared,
)
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import SUM_ROUNDING, TINY
from dircal._core.model.curved import Curved
from dircal._core.model.moments import HessianMoments
from dircal._core.model.objective import Evaluation, Likelihood, Objective
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._core.optim.newton import Iteration, Solution, with_history
from dircal._core.optim.path import PathSolver
from dircal._core.optim.precondition import make_preconditioner
from dircal._typing import FloatArray, IntArray

__all__ = ["EvidenceState", "GroupFit", "Learned", "least_precision"]


@dataclass(frozen=True)
class GroupFit:
    """The best map with its precisions (g,) and effective parameters (g,), by group.

    ``weights`` (p,) are the precisions of all parameters, and ``log_hyperprior`` is that of the
    precisions of groups, relative to its height at their mode.
    """

    solution: Solution
    precisions: FloatArray
    power: float
    weights: FloatArray
    effective_dof: FloatArray
    log_evidence: float
    log_hyperprior: float
    posterior: Posterior | None


@dataclass(frozen=True)
class Learned:
    """Precisions (g,) and power of a prior, and steps until they were found.

    ``curvature`` is the one that they are best for, if they are learned.
    """

    prior: GroupedGaussianPrior
    precisions: FloatArray
    power: float
    history: Sequence[Iteration] = ()
    curvature: Curvature | None = None

    @property
    def log_evidence(self) -> float:
        """Up to a constant, by the curvature."""
        assert self.curvature is not None
        return self.curvature.log_evidence(self.precisions, self.power)


class EvidenceState:
    """The likelihood, and where fits and precisions in turns have come to: first the centre.

    Where there are many rows ``few`` is the same for a subsample, whose optimum is where that of
    all rows starts from, and so are its precisions, unless they are estimates.
    """

    def __init__(self, rows: Rows, prior: GroupedGaussianPrior, tol: float, max_iter: int) -> None:
        limits = BAYES_LIMITS.get()
        self.rows = rows
        self.centre = prior.centre
        self.structure = prior.structure
        self.likelihood = Likelihood(rows, prior.structure)
        few = rows.subsample(prior.structure.n_params)
        self.few: EvidenceState | None = None
        of_few: PathSolver | None = None
        if few is not None:
            self.few = EvidenceState(few, prior, tol, max_iter)
            of_few = self.few.path
        loose = max(tol, limits.round_tol)
        self.path: PathSolver = PathSolver(
            self.likelihood, prior.centre, False, loose, max_iter, of_few
        )
        self._moved = np.inf
        if self.path.forms_hessian:
            self.n_rounds, self.tolerance = limits.max_precision_rounds, limits.precision_tol
            self.n_rounds_of_powers, self.inside_tolerance = (
                limits.max_power_rounds,
                0.1 * limits.precision_tol,
            )
        else:
            self.n_rounds, self.tolerance = (
                limits.max_estimated_rounds,
                limits.estimated_precision_tol,
            )
            self.n_rounds_of_powers, self.inside_tolerance = 1, limits.estimated_precision_tol
            # Rounds so few end near where they began: optima must not depend on the subsample.
            self.path.tol = (
                max(tol, limits.estimated_round_tol) if few is None else limits.final_tol
            )

    @cached_property
    def least(self) -> float:
        """The least precision that is more than rounding."""
        return least_precision(self.rows, self.structure)

    @property
    def moments_of_centre(self) -> HessianMoments:
        """Moments of the rows around the temperature map."""
        return self._at_centre[1]

    @property
    def loss_of_centre(self) -> float:
        """Mean loss of the temperature map."""
        return self._at_centre[0].loss

    @cached_property
    def _at_centre(self) -> tuple[Evaluation, HessianMoments]:
        return evaluate_with_moments(self.rows, self.structure, self.centre)

    @cached_property
    def _chosen(self) -> IntArray:
        """Classes whose blocks stand for all, whatever the order of rows and classes."""
        at, moments = self._at_centre
        gradient = at.gradient
        mass = moments.mass[: self.rows.n_classes]
        pulls = np.bincount(self.structure.param_class, gradient**2)[: len(mass)]
        # Rounding would settle ties, which rows with few different scores have many of.
        return _spread_by_mass(
            mass * (1.0 + BAYES_LIMITS.get().tie_tol * pulls / max(pulls.max(), TINY))
        )

    def learn(
        self,
        prior: GroupedGaussianPrior,
        precisions: FloatArray | None = None,
        power: float = 0.0,
    ) -> Learned:
        """Rounds of two: the optimum for given precisions, then the best ones for its curvature.

        Of many rows the first precisions are those of a subsample, and the first curvature is.
        """
        inside = max(BAYES_LIMITS.get().first_precision_tol, self.tolerance)
        history: list[Iteration] = []
        if precisions is None and self.few is not None and self.path.forms_hessian:
            guess = self.few.learn(prior)
            precisions, power = np.maximum(guess.precisions, self.least), guess.power
            inside = self.inside_tolerance
            found = self.path.solve(self.objective(prior, precisions, power))
            self.path.params = found.params
            self.few.path.linearise_at(found.params)
            history += found.history
            curvature = self.curvature(prior, precisions, power)
            precisions, power = _best(curvature, precisions, _powers(prior), inside)
        elif precisions is None:
            precisions = np.maximum(prior.mode, self.least)
        for turn in range(self.n_rounds):
            history += self.solve(prior, precisions, power).history
            last, last_power = precisions, power
            curvature = self.curvature(prior, precisions, power)
            powers = _powers(prior) if turn < self.n_rounds_of_powers else (power,)
            precisions, power = _best(curvature, last, powers, inside)
            inside = max(0.01 * inside, self.inside_tolerance)
            moved = np.abs(np.log(precisions / last)).max()
            if power == last_power and moved <= self.tolerance:
                break
        return Learned(prior, precisions, power, history, curvature)

    def learn_at(self, curvature: Curvature, power: float) -> Learned:
        """The best precisions for a curvature that is known."""
        prior = curvature.prior
        start = np.maximum(prior.mode, self.least)
        precisions = curvature.best_precisions(start, power, BAYES_LIMITS.get().first_precision_tol)
        return Learned(prior, precisions, power, curvature=curvature)

    def held(self, prior: GroupedGaussianPrior) -> Learned:
        """Precisions as the prior has them."""
        return Learned(prior, np.maximum(prior.mode, self.least), 0.0)

    def finish(self, learned: Learned, tol: float) -> GroupFit:
        """The optimum to all digits, and what there is to say of it.

        The curvature of what was learned has to do where there are only estimates.
        """
        prior, precisions, power = learned.prior, learned.precisions, learned.power
        objective = self.objective(prior, precisions, power)
        solution = self.path.solve_to(objective, tol)
        self._linearise_at(solution)
        curvature = learned.curvature
        if curvature is None or self.path.forms_hessian:
            curvature = self.curvature(prior, precisions, power)
        evidence = -self.rows.total_weight * solution.loss
        evidence -= 0.5 * curvature.log_determinant(precisions, power)
        weights = precisions[prior.group] * prior.relative_precisions(power)
        return GroupFit(
            with_history(solution, learned.history),
            precisions,
            power,
            weights,
            curvature.effective_dof(precisions, power),
            evidence,
            prior.log_hyperprior(precisions),
            self.posterior(solution.params, weights) if self.path.forms_hessian else None,
        )

    @property
    def hessian(self) -> FloatArray:
        """That of the mean loss at the last linearisation, where it is formed.

        That of a subsample stands in for it until then.
        """
        if self.likelihood.hessian is None and self.few is not None:
            return self.few.hessian
        assert self.likelihood.hessian is not None
        return self.likelihood.hessian

    def objective(
        self, prior: GroupedGaussianPrior, precisions: FloatArray, power: float
    ) -> Objective:
        """Mean loss plus the part of the prior."""
        penalty = prior.penalty(precisions, power, self.rows.total_weight)
        return Objective(self.likelihood, penalty)

    def solve(self, prior: GroupedGaussianPrior, precisions: FloatArray, power: float) -> Solution:
        """Go to the optimum and linearise there."""
        found = self.path.solve(self.objective(prior, precisions, power))
        self._linearise_at(found)
        return found

    def _linearise_at(self, found: Solution) -> None:
        """Form the Hessian at an optimum; that of many rows only if it can have changed."""
        self._moved += sum(each.predicted_decrease for each in found.history)
        if self.few is not None and self._moved <= BAYES_LIMITS.get().same_hessian_decrease:
            self.path.params = found.params
            return
        self.path.linearise_at(found.params)
        self._moved = 0.0

    def curvature(
        self, prior: GroupedGaussianPrior, precisions: FloatArray, power: float
    ) -> Curvature:
        """The Hessian at the last linearisation: all of it, or blocks of some classes."""
        params, n = self.path.params, self.rows.total_weight
        at = precisions[prior.group] * prior.relative_precisions(power)
        blocks = self._whole() if self.path.forms_hessian else self._sample(params, n)
        return Curvature(prior, blocks, params - prior.centre, at, self.least)

    def with_posterior(self, fit: GroupFit) -> GroupFit:
        """A fit whose posterior is known."""
        if fit.posterior is not None:
            return fit
        return replace(fit, posterior=self.posterior(fit.solution.params, fit.weights))

    def _whole(self) -> tuple[Blocks, ...]:
        hessian = self.rows.total_weight * self.hessian[None]
        return (Blocks(hessian, np.arange(hessian.shape[1])[None]),)

    def _sample(self, params: FloatArray, n: float) -> tuple[Blocks, ...]:
        share = 1.0 - 1.0 / self.rows.n_classes
        # A few digits will do for an estimate.
        small = self.rows.as_float32()
        of_classes = n / share * blocks_of_classes(small, self.structure, params, self._chosen)
        param_class = self.structure.param_class
        places = np.array([np.flatnonzero(param_class == j) for j in self._chosen])
        sample = Blocks(of_classes, places, share)
        if not isinstance(self.structure, Curved):
            return (sample,)
        shared = hessian_of_shared(small, self.structure, params)
        places = np.arange(len(param_class))[self.structure.shared]
        return sample, Blocks(n * shared[None], places[None])

    def system(self, weights: FloatArray) -> FloatArray:
        """The whole Hessian of the summed loss, where it is formed, plus precisions (p,)."""
        return self.rows.total_weight * self.hessian + np.diag(weights)

    def posterior(self, params: FloatArray, weights: FloatArray) -> Posterior:
        """The Gaussian approximation around an optimum, the last linearisation, with precisions."""
        if self.path.forms_hessian:
            covariance = np.linalg.inv(self.system(weights))
            return ExactPosterior(covariance.astype(np.float64, copy=False))
        n, base = self.rows.total_weight, self.structure
        moments = self.likelihood.linearise(params, np.float64).moments
        if isinstance(base, Curved):
            # What classes share is determined by all rows; its spread is next to nothing.
            k, base = base.n_classes, base.base
            moments = HessianMoments(
                moments.first[: base.n_params],
                moments.second[: base.n_params],
                moments.coupling[:k, :k],
                moments.mass[:k],
            )
        inverse = make_preconditioner(moments, base.param_class, weights[: base.n_params] / n)
        return LowRankPosterior(inverse, n)


def least_precision(rows: Rows, structure: Full | Diagonal | Curved) -> float:
    """The least precision that is more than rounding.

    A factorisation of the Hessian loses as many more digits as it has rows. And where Newton steps
    are damped by more than the curvature of the prior, they would never get there.
    """
    rounding = max(SUM_ROUNDING * structure.n_params, OPTIM_LIMITS.get().damping)
    return rounding * rows.total_weight * max(rows.largest, 1.0) ** 2


def _powers(prior: GroupedGaussianPrior) -> Sequence[float]:
    return BAYES_LIMITS.get().co_occurrence_powers if prior.co_occurrence is not None else (0.0,)


def _best(
    curvature: Curvature, start: FloatArray, powers: Sequence[float], tolerance: float
) -> tuple[FloatArray, float]:
    """The precisions and the power with the largest evidence."""
    found = [(curvature.best_precisions(start, power, tolerance), power) for power in powers]
    return found[0] if len(found) == 1 else max(found, key=lambda f: curvature.log_evidence(*f))


def _spread_by_mass(mass: FloatArray) -> IntArray:
    """Some classes, from the rarest to the most frequent, whatever their order."""
    limits = BAYES_LIMITS.get()
    n_chosen = min(
        max(limits.block_entries // len(mass), limits.min_blocks), limits.max_blocks, len(mass)
    )
    places = ((np.arange(n_chosen) + 0.5) * len(mass) / n_chosen).astype(np.intp)
    chosen: IntArray = np.argsort(mass, kind="stable")[places]
    return chosen
