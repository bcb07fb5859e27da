"""An approximate inverse of the Hessian that costs about as much as one evaluation.

With t the features of a row (its scores and a one), the Hessian of the likelihood in the
parameters of classes i and j is the sum over rows of w (p_i [i = j] - p_i p_j) t t^T. Features
differ far more from zero than from each other, so in the rows that are in doubt about a class they
are taken as their mean plus deviations that have nothing to do with each other:

    H ~ D + V A V^T,

D the diagonal of squared deviations and penalty, V the means, one column for each class, and A the
sum of w (diag(p) - p p^T). A system of the size of A inverts this, whatever the size of H.
"""

from dataclasses import dataclass

import numpy as np

from dircal._typing import FloatArray, IntArray

__all__ = ["Preconditioner", "Sketch", "make_preconditioner"]

# Deviations count as at least this part of the square: those of an intercept are zero, and there D
# would have no inverse.
_DEVIATION_AT_LEAST = 0.1


@dataclass(frozen=True)
class Sketch:
    """What is known of the curvature on some rows, for c classes and p parameters.

    ``first``, ``second`` (p,) : sums over rows of w p (1 - p) times feature and squared feature;
    ``coupling`` (c, c) : sum over rows of w (diag(p) - p p^T);
    ``mass`` (c,) : sum over rows of w p.
    """

    first: FloatArray
    second: FloatArray
    coupling: FloatArray
    mass: FloatArray

    def __add__(self, other: "Sketch") -> "Sketch":
        return Sketch(
            self.first + other.first,
            self.second + other.second,
            self.coupling + other.coupling,
            self.mass + other.mass,
        )

    def least_doubt(self) -> float:
        """Smallest mean over the mass of a class of 1 - p: small where all its rows are sure."""
        living = self.mass > 0.0
        return float((self.coupling.diagonal()[living] / self.mass[living]).min(initial=1.0))


@dataclass(frozen=True)
class Preconditioner:
    """Inverse of D + V A V^T: multiplies vectors (p,).

    ``inverse`` (p,) is that of D, ``means`` (p,) are those of V divided by D, ``owner`` (p,) is the
    class of each parameter, and ``coupling`` (c, c) is the inverse of A^-1 + V^T D^-1 V.
    """

    inverse: FloatArray
    means: FloatArray
    owner: IntArray
    coupling: FloatArray

    def __call__(self, vector: FloatArray) -> FloatArray:
        by_class = np.bincount(self.owner, self.means * vector, len(self.coupling))
        product: FloatArray = self.inverse * vector
        product -= self.means * (self.coupling @ by_class)[self.owner]
        return product


def make_preconditioner(sketch: Sketch, owner: IntArray, penalty: FloatArray) -> Preconditioner:
    """From a sketch of all rows and the curvature (p,) of the penalty."""
    # A direction without curvature keeps a little of that of its neighbours.
    least = 1e-12 * max(float(sketch.second.max()), np.finfo(np.float64).tiny)
    doubt = np.maximum(sketch.coupling.diagonal(), least)
    means = sketch.first / doubt[owner]
    deviations = sketch.second - sketch.first * means
    diagonal = np.maximum(deviations, _DEVIATION_AT_LEAST * sketch.second) + penalty + least
    scaled = means / diagonal
    size = np.bincount(owner, means * scaled, len(doubt))
    # (A^-1 + S)^-1, also where A has no inverse.
    system = np.eye(len(doubt)) + sketch.coupling * size
    coupling: FloatArray = np.linalg.solve(system, sketch.coupling).astype(np.float64, copy=False)
    return Preconditioner(1.0 / diagonal, scaled, owner, coupling)
