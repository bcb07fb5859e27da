"""Probabilities after a temperature, mixed with the uniform distribution."""

from dataclasses import dataclass

from dircal._core.bayes.mixture import mix_with_uniform
from dircal._typing import FloatArray
from dircal.maps._step import AbstractStep, check_sizes

__all__ = ["UniformMixture"]


@dataclass(frozen=True, eq=False, repr=False)
class UniformMixture(AbstractStep):
    r"""ln((1 - u) softmax(slope s) + u / k), with u the ``uniform_weight``.

    No class is left without a probability: label smoothing's sibling, on the side of the input.
    Unless ``normalised``, a row is moved by the logarithm of the sum of exp(slope s), to where
    slope s was: with u = 0 the step is then ``slope`` times s, and a linear map of it one of s.
    """

    slope: float
    uniform_weight: float
    normalised: bool

    def apply(self, block: FloatArray) -> FloatArray:
        """Log-probabilities of the mixture."""
        return mix_with_uniform(block, self.slope, self.uniform_weight, normalised=self.normalised)

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        if not self.slope > 0.0:
            raise ValueError(f"`slope` must be above 0; got {self.slope}")
        check_sizes(slope=self.slope)
        if not 0.0 < self.uniform_weight < 1.0:
            raise ValueError(
                f"`uniform_weight` must lie between 0 and 1; got {self.uniform_weight}"
            )
        return n_in
