"""Gaussian priors of groups of parameters: which entries are alike, and how far they may go."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.model.curved import Curved
from dircal._core.model.penalty import GROUPS, ParameterPenalty, group_of_entries
from dircal._core.model.statistics import N_CURVATURES, N_OWN_KNOTS, N_STATISTICS
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.newton import forms_hessian
from dircal._typing import FloatArray, IntArray

__all__ = [
    "CURVE_GROUPS",
    "GroupedGaussianPrior",
    "curved_prior",
    "diagonal_prior",
    "full_prior",
    "linear_prior",
]

CURVE_GROUPS = ("curvature", "shared_curve", "class_curves")
"""Groups of coefficients of the statistics: of gap and entropy, of hinges, of a class's own."""


@dataclass(frozen=True)
class GroupedGaussianPrior:
    """Gaussian priors of groups of parameters around ``centre`` (p,).

    Parameters
    ----------
    structure : Full, Diagonal or Curved
        What the parameters are.
    names : tuple of str
        One for each group.
    group : array of shape (p,)
        Number of the group of each parameter.
    mode : array of shape (g,)
        Precisions that are expected before any row is seen.
    centre : array of shape (p,)
        The temperature map.
    co_occurrence : array of shape (p,) or None
        Of each off-diagonal entry, how often its two classes compete; zero elsewhere.
    strength : float
        Strength a of the gamma prior of the precisions around their mode, worth 2a parameters.
    held : array of shape (g,) or None
        Groups whose precision is not learned but stays at the mode.
    """

    structure: Full | Diagonal | Curved
    names: tuple[str, ...]
    group: IntArray
    mode: FloatArray
    centre: FloatArray
    co_occurrence: FloatArray | None = None
    strength: float = 2.0
    held: npt.NDArray[np.bool_] | None = None

    @property
    def base(self) -> Full | Diagonal:
        """The structure without its curves."""
        return _base(self.structure)

    def relative_precisions(self, power: float) -> FloatArray:
        """Precision (p,) of each parameter, relative to that of its group.

        Variances of off-diagonal entries are as the given power of the co-occurrence.
        """
        relative = np.ones(len(self.group))
        if self.co_occurrence is not None and power > 0.0:
            places = np.flatnonzero(self.co_occurrence)
            variances = self.co_occurrence[places] ** power
            relative[places] = variances.mean() / variances
        return relative

    def penalty(self, precisions: FloatArray, power: float, n: float) -> ParameterPenalty:
        """Minus the logarithm of the prior, as a part of a mean loss over ``n`` rows."""
        weights = precisions[self.group] * self.relative_precisions(power)
        return ParameterPenalty(weights / (2.0 * n), self.centre)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum of values (p,) in each group (g,)."""
        summed: FloatArray = np.bincount(self.group, values, len(self.names)).astype(np.float64)
        return summed

    def by_name(self, values: FloatArray) -> dict[str, float]:
        """Values (g,) of the groups under their names."""
        return dict(zip(self.names, values.tolist(), strict=True))

    def log_hyperprior(self, precisions: FloatArray) -> float:
        """Logarithm of the gamma prior of log-precisions, relative to its height at the mode."""
        ratio = precisions / self.mode
        return self.strength * float(np.sum(np.log(ratio) - ratio + 1.0))

    def with_coupling(self, coupling: FloatArray) -> "GroupedGaussianPrior":
        """With the co-occurrence of classes in rows: minus the sum of p_i p_j off the diagonal."""
        if not isinstance(self.base, Full):
            return self
        k = self.structure.n_classes
        together = np.maximum(-coupling[:k, :k], 0.0)
        np.fill_diagonal(together, 0.0)
        largest = together.max()
        if largest <= 0.0:
            return self
        together = np.maximum(together, BAYES_LIMITS.get().min_co_occurrence * largest)
        np.fill_diagonal(together, 0.0)
        found = np.zeros(len(self.group))
        found[: k * (k + 1)].reshape(k, k + 1)[:, :-1] = together
        return replace(self, co_occurrence=found)


def full_prior(n_classes: int, mode: FloatArray, slope: float) -> GroupedGaussianPrior:
    """Of the whole of [W | b] around [slope * I | 0], with a mode for each of `GROUPS`."""
    return _prior_of(Full(n_classes, n_classes), mode, slope)


def linear_prior(n_classes: int, mode: FloatArray, slope: float) -> GroupedGaussianPrior:
    """The same, but with very many classes of a diagonal matrix."""
    return _prior_of(_base_for(n_classes), mode, slope)


def diagonal_prior(n_classes: int, mode: FloatArray, slope: float) -> GroupedGaussianPrior:
    """The same of a diagonal matrix: slopes and intercepts."""
    return _prior_of(Diagonal(n_classes), mode, slope)


def curved_prior(n_classes: int, mode: FloatArray, slope: float) -> GroupedGaussianPrior:
    """The same with coefficients of curves, whose modes follow those of `GROUPS`.

    Classes have curves of their own while the Hessian of all parameters is formed.
    """
    base = _base_for(n_classes)
    structure = Curved(base, N_STATISTICS, N_OWN_KNOTS)
    if not (isinstance(base, Full) and forms_hessian(structure.n_params)):
        structure = Curved(base, N_STATISTICS, 0)
    return _prior_of(structure, mode, slope)


def _prior_of(
    structure: Full | Diagonal | Curved, mode: FloatArray, slope: float
) -> GroupedGaussianPrior:
    """Groups of what there is; the last ones may have no parameters."""
    k, first = structure.n_classes, len(GROUPS)
    base = _base(structure)
    groups = [base.entries(group_of_entries(k).astype(np.float64)).astype(np.intp)]
    if isinstance(structure, Curved):
        groups.append(np.full(N_CURVATURES, first))
        groups.append(np.full(structure.n_shared - N_CURVATURES, first + 1))
        groups.append(np.full(k * structure.n_own, first + 2))
    group = np.concatenate(groups)
    n_groups = int(group.max()) + 1
    centre = structure.pack(slope * np.eye(k, k + 1))
    names = (GROUPS + CURVE_GROUPS)[:n_groups]
    return GroupedGaussianPrior(structure, names, group, mode[:n_groups], centre)


def _base_for(n_classes: int) -> Full | Diagonal:
    if n_classes <= BAYES_LIMITS.get().max_matrix_classes:
        return Full(n_classes, n_classes)
    return Diagonal(n_classes)


def _base(structure: Full | Diagonal | Curved) -> Full | Diagonal:
    return structure.base if isinstance(structure, Curved) else structure
