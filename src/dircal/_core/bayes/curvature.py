r"""The Hessian around an optimum, and the precisions that have the largest evidence for it.

With the loss taken as a parabola, Hessian H and the optimum at :math:`\hat\theta` for precisions
:math:`\hat\Lambda`, other precisions :math:`\Lambda` have their optimum at :math:`(H +
\Lambda)^{-1} v`, where :math:`v = (H + \hat\Lambda)\hat\theta`, and up to a constant the logarithm
of their evidence is

.. math:: \tfrac12 v^T (H + \Lambda)^{-1} v + \tfrac12 \ln\det\Lambda
    - \tfrac12 \ln\det(H + \Lambda).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.prior import GroupedGaussianPrior
from dircal._typing import FloatArray, IntArray

__all__ = ["Blocks", "Curvature"]


@dataclass(frozen=True)
class Blocks:
    """Blocks (c, q, q) on the diagonal of a Hessian, at ``places`` (c, q), that stand for others.

    One block with all entries is the whole truth, and its ``share`` is 1. Blocks of single classes
    leave out what ties classes together. That is least by a factor of 1 - 1/k: the common shift of
    all classes, about which rows say nothing. So blocks are divided by this share, and what they
    determine is multiplied by it, which is exact where all classes are equally probable.
    """

    blocks: FloatArray
    places: IntArray
    share: float = 1.0


@dataclass(frozen=True)
class Curvature:
    """The Hessian of the summed loss around the optimum for given precisions.

    ``blocks`` are of one kind or of several, and every group of the prior has entries in one of
    them. ``theta`` (p,) is the distance of the optimum from the centre of the prior, where the
    precisions of all entries were ``at`` (p,).

    In directions that no row has, such as the common shift of all classes, the Hessian is nothing
    but rounding errors. Precisions are held above these, at ``least``.
    """

    prior: GroupedGaussianPrior
    blocks: tuple[Blocks, ...]
    theta: FloatArray
    at: FloatArray
    least: float = 0.0

    def effective_dof(self, precisions: FloatArray, power: float) -> FloatArray:
        """Number of entries (g,) that the rows determine."""
        at = self._look(precisions, self.prior.relative_precisions(power))
        return at.effective_dof

    def log_determinant(self, precisions: FloatArray, power: float) -> float:
        """Logarithm of the determinant of H + Lambda, less that of Lambda."""
        relative = self.prior.relative_precisions(power)
        weights = precisions[self.prior.group] * relative
        return sum(
            part.share * scale * self._log_determinant(part, weights)
            for part, scale in zip(self.blocks, self._scales, strict=True)
        )

    def log_evidence(self, precisions: FloatArray, power: float) -> float:
        """Up to a constant, with the loss taken as a parabola and the prior of the precisions."""
        relative = self.prior.relative_precisions(power)
        gained = 0.5 * self._look(precisions, relative).gained
        gained -= 0.5 * self.log_determinant(precisions, power)
        return gained + self.prior.log_hyperprior(precisions)

    def best_precisions(self, start: FloatArray, power: float, tolerance: float) -> FloatArray:
        """The fixed point (g,).

        Plain rounds draw near it slowly, and all in one direction. So after every two of them goes
        a leap as far as their change foretells (SQUAREM; Varadhan and Roland, 2008), unless the
        curvature is estimated: there nothing is known so well that it should be followed far.
        """
        limits = BAYES_LIMITS.get()
        relative = self.prior.relative_precisions(power)
        # Estimates are scaled so that they are right where the optimum is known.
        known, found = self.prior.sums(relative * self.theta**2), self._squares(relative)
        scale = known / np.where(found > 0.0, found, 1.0)
        worth, held = 2.0 * self.prior.strength, self.prior.held
        more = worth / self.prior.mode

        def following(precisions: FloatArray) -> FloatArray:
            at = self._look(precisions, relative)
            best = (at.effective_dof + worth) / (scale * at.squares + more)
            return np.maximum(best if held is None else np.where(held, start, best), self.least)

        longest = limits.max_leap if self._is_whole else 1.0
        precisions = start
        for _ in range(limits.max_curvature_rounds):
            second = following(precisions)
            first_step = np.log(second / precisions)
            if np.abs(first_step).max() <= tolerance:
                return second
            third = following(second)
            step = np.log(third / second)
            if np.abs(step).max() <= tolerance:
                return third
            bend = step - first_step
            size = float(np.linalg.norm(bend))
            leap = float(np.linalg.norm(first_step)) / size if size > 0.0 else 1.0
            leap = min(max(leap, 1.0), longest)
            # With a leap of one this is the third again.
            further = precisions * np.exp(2.0 * leap * first_step + leap**2 * bend)
            precisions = np.maximum(further, self.least)
        return third

    @property
    def _is_whole(self) -> bool:
        """Whether the blocks are the whole truth."""
        return self.blocks[0].share == 1.0

    @cached_property
    def _pulls(self) -> list[FloatArray]:
        return [
            np.einsum("cij,cj->ci", part.blocks, self.theta[part.places])
            + self.at[part.places] * self.theta[part.places]
            for part in self.blocks
        ]

    @cached_property
    def _counts(self) -> list[FloatArray]:
        """Entries of each group in each kind of blocks."""
        return [self._by_group(part, np.ones(part.places.shape)) for part in self.blocks]

    @cached_property
    def _sizes(self) -> FloatArray:
        return self.prior.sums(np.ones(len(self.prior.group)))

    @cached_property
    def _scales(self) -> list[float]:
        """How many times the entries of its blocks a kind stands for."""
        return [float(self._sizes[counts > 0].sum() / counts.sum()) for counts in self._counts]

    def _squares(self, relative: FloatArray) -> FloatArray:
        squares = np.zeros(len(self.prior.names))
        for part in self.blocks:
            squares += self._by_group(part, (relative * self.theta**2)[part.places])
        return squares

    def _look(self, precisions: FloatArray, relative: FloatArray) -> "_Look":
        """What there is to know of given precisions."""
        weights = precisions[self.prior.group] * relative
        dof = np.zeros(len(precisions))
        squares = np.zeros(len(precisions))
        gained = 0.0
        for part, pull, counts, scale in zip(
            self.blocks, self._pulls, self._counts, self._scales, strict=True
        ):
            inverse = np.array([_inverse(block) for block in self._system(part, weights)])
            moved = np.einsum("cij,cj->ci", inverse, pull)
            # Rows only ever lower a variance; rounding may say otherwise.
            variances = np.diagonal(inverse, axis1=1, axis2=2) * weights[part.places]
            variances = np.clip(variances, 0.0, 1.0)
            known = 1.0 - self._by_group(part, variances) / np.maximum(counts, 1.0)
            dof += np.where(counts > 0, part.share * self._sizes * known, 0.0)
            squares += self._by_group(part, relative[part.places] * moved**2)
            gained += part.share * scale * float(np.vdot(pull, moved))
        return _Look(dof, squares, gained)

    def _system(self, part: Blocks, weights: FloatArray) -> FloatArray:
        system = part.blocks.copy()
        every = np.arange(system.shape[1])
        system[:, every, every] += weights[part.places]
        return system

    def _log_determinant(self, part: Blocks, weights: FloatArray) -> float:
        of_blocks = float(np.linalg.slogdet(self._system(part, weights))[1].sum())
        return of_blocks - float(np.log(weights[part.places]).sum())

    def _by_group(self, part: Blocks, values: FloatArray) -> FloatArray:
        group = self.prior.group[part.places]
        sums = np.bincount(group.ravel(), values.ravel(), len(self.prior.names))
        return sums.astype(np.float64, copy=False)


def _inverse(block: FloatArray) -> FloatArray:
    """That of a positive definite matrix; of one that rounding has made another, as it comes."""
    factor, failed = dpotrf(block, lower=1, clean=0)
    if failed:
        return np.linalg.inv(block).astype(np.float64, copy=False)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse: FloatArray = np.tril(lower)
    inverse += np.tril(lower, -1).T
    return inverse


@dataclass(frozen=True)
class _Look:
    """Effective parameters (g,), squared distances (g,) and v^T (H + Lambda)^-1 v."""

    effective_dof: FloatArray
    squares: FloatArray
    gained: float
