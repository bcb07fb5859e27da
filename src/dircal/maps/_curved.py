"""A linear map with curves on top."""

from dataclasses import dataclass

import numpy as np

from dircal._core.model.statistics import N_CURVATURES, curve_statistics
from dircal._typing import FloatArray
from dircal.maps._affine import AbstractLinearStep
from dircal.maps._columns import only
from dircal.maps._map import CalibrationMap
from dircal.maps._step import AbstractStep, freeze

__all__ = ["WithCurves"]


@dataclass(frozen=True, eq=False, repr=False)
class WithCurves(AbstractStep):
    r"""Logits of a linear map plus curves of the same scores s.

    .. math:: z_i = (W s + b)_i + c_{i1} \frac{(s_i - \max s)^2}{10} + c_{i2} H s_i
        + \sum_m c_{i,m+2} \ln(1 + e^{x_i - k_m}),

    with s in the curves normalised to log-probabilities, H their entropy divided by that of the
    uniform row, :math:`x_i` the log-odds of class i against the rest, and ``knots`` :math:`k_m`.
    The map ``linear`` is one linear step. ``coefficients`` c (k, 2 + m) has a row for each class,
    or one row (1, 2 + m) for all of them.
    """

    linear: CalibrationMap
    coefficients: FloatArray
    knots: FloatArray

    def __post_init__(self) -> None:
        freeze(self, coefficients=self.coefficients, knots=self.knots)

    @property
    def linear_step(self) -> AbstractLinearStep:
        """The linear step."""
        (step,) = self.linear.steps
        assert isinstance(step, AbstractLinearStep)
        return step

    def apply(self, block: FloatArray) -> FloatArray:
        """Logits."""
        curves = self.curves(block)
        return self.linear.on_block(block) + curves

    def curves(self, block: FloatArray) -> FloatArray:
        """What the curves add to the logits (k, m) of scores (k, m)."""
        statistics = curve_statistics(block, self.knots)
        if len(self.coefficients) == 1:
            return np.tensordot(self.coefficients[0], statistics, 1)
        together: FloatArray = np.einsum("ic,cim->im", self.coefficients, statistics)
        return together

    def n_out(self, n_in: int) -> int:
        """As many as go in."""
        steps = self.linear.steps
        if len(steps) != 1 or not isinstance(steps[0], AbstractLinearStep):
            raise ValueError("`linear` must have one step, a linear one")
        if n_in < 2:
            raise ValueError("curves need two classes or more")
        shape, wanted = self.coefficients.shape, N_CURVATURES + self.knots.size
        if self.knots.ndim != 1 or shape not in ((1, wanted), (n_in, wanted)):
            raise ValueError(
                f"`coefficients` must have shape (1, {wanted}) or ({n_in}, {wanted}) with "
                f"{self.knots.size} knots; got {shape}"
            )
        only(n_in, self.linear.n_columns)
        return only(n_in, self.linear.n_classes)
