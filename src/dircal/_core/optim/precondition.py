"""An approximate inverse of the Hessian that costs about as much as one evaluation.

With t the features of a row (its scores and a one), the Hessian of the likelihood in the
parameters of classes i and j is the sum over rows of w (p_i [i = j] - p_i p_j) t t^T. Features
differ far more from zero than from each other. So, weighted by the Bernoulli variance p (1 - p) of
a class, they are taken as their mean plus deviations that have nothing to do with each other:

    H ~ D + V A V^T,

D the diagonal of squared deviations and penalty, V the means, one column for each class, and A the
sum of w (diag(p) - p p^T). A system of the size of A inverts this, whatever the size of H.
"""

from dataclasses import dataclass

import numpy as np

from dircal._core.model.moments import HessianMoments
from dircal._core.optim.limits import OPTIM_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = ["Preconditioner", "SharedPreconditioner", "make_preconditioner", "precondition"]


@dataclass(frozen=True)
class Preconditioner:
    """Inverse of D + V A V^T: multiplies vectors (p,).

    ``inverse`` (p,) is that of D, ``means`` (p,) are those of V divided by D, ``param_class`` (p,)
    is the class of each parameter, and ``coupling`` (c, c) is the inverse of A^-1 + V^T D^-1 V
    (Woodbury's identity).
    """

    inverse: FloatArray
    means: FloatArray
    param_class: IntArray
    coupling: FloatArray

    def __call__(self, vector: FloatArray) -> FloatArray:
        by_class = np.bincount(self.param_class, self.means * vector, len(self.coupling))
        product: FloatArray = self.inverse * vector
        product -= self.means * (self.coupling @ by_class)[self.param_class]
        return product


@dataclass(frozen=True)
class SharedPreconditioner:
    """That of the ``classes``, and beside it coefficients that all of them share.

    They are at ``places`` (s,); ``inverse`` (s, s) is that of their own block of the Hessian.
    """

    classes: Preconditioner
    places: IntArray
    inverse: FloatArray

    def __call__(self, vector: FloatArray) -> FloatArray:
        product = self.classes(vector)
        product[self.places] = self.inverse @ vector[self.places]
        return product


def precondition(
    moments: HessianMoments, param_class: IntArray, penalty: FloatArray
) -> Preconditioner | SharedPreconditioner:
    """For all parameters of a structure, whether or not classes share some of them."""
    classes = make_preconditioner(moments, param_class, penalty)
    if len(moments.shared) == 0:
        return classes
    places = np.flatnonzero(param_class == len(moments.mass) - 1)
    system = moments.shared + np.diag(penalty[places])
    inverse: FloatArray = np.linalg.pinv(system, hermitian=True).astype(np.float64)
    return SharedPreconditioner(classes, places, inverse)


def make_preconditioner(
    moments: HessianMoments, param_class: IntArray, penalty: FloatArray
) -> Preconditioner:
    """From the moments of all rows and the curvature (p,) of the penalty."""
    # A direction without curvature keeps a little of that of its neighbours.
    least = 1e-12 * max(float(moments.second.max()), np.finfo(np.float64).tiny)
    variances = np.maximum(moments.coupling.diagonal(), least)
    means = moments.first / variances[param_class]
    deviations = moments.second - moments.first * means
    diagonal = (
        np.maximum(deviations, OPTIM_LIMITS.get().min_deviation * moments.second) + penalty + least
    )
    scaled = means / diagonal
    size = np.bincount(param_class, means * scaled, len(variances))
    # (A^-1 + S)^-1, also where A has no inverse.
    system = np.eye(len(variances)) + moments.coupling * size
    coupling: FloatArray = np.linalg.solve(system, moments.coupling).astype(np.float64, copy=False)
    return Preconditioner(1.0 / diagonal, scaled, param_class, coupling)
