"""What is known of a Hessian without forming it: moments of the features of the rows."""

from dataclasses import dataclass, field

import numpy as np

from dircal._core.data.chunks import AbstractSums
from dircal._typing import FloatArray

__all__ = ["HessianMoments"]


@dataclass
class HessianMoments(AbstractSums):
    """Sums over rows behind the Hessian of c classes and p parameters.

    ``first``, ``second`` (p,) : sums of w p (1 - p) times feature and squared feature;
    ``coupling`` (c, c) : sum of w (diag(p) - p p^T);
    ``mass`` (c,) : sum of w p;
    ``shared`` (s, s) : the Hessian itself, of coefficients that all classes share, which are
    counted as the last class.
    """

    first: FloatArray
    second: FloatArray
    coupling: FloatArray
    mass: FloatArray
    shared: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def least_bernoulli_variance(self) -> float:
        """Smallest mean over the mass of a class of 1 - p: small where all its rows are sure."""
        living = self.mass > 0.0
        return float((self.coupling.diagonal()[living] / self.mass[living]).min(initial=1.0))
