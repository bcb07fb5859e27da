r"""Confidence distribution of a mean of bounded numbers whose distributions are predicted.

Row i has one of k values :math:`c_{ij}` with predicted probabilities :math:`p_{ij}`. Tilting,

.. math:: p_{ij}(t) \propto p_{ij} e^{t c_{ij}},

makes large values more or less likely in all rows. An interval has as its ends the means under the
two tilts at which the observed sum is in a tail. It needs no observed variance, so it is valid
without a single event: with one probability for all rows and two values it is the exact binomial
interval (Clopper and Pearson, 1934). Tails are those of the saddlepoint approximation of Lugannani
and Rice (1980), with the correction of Daniels (1987) for sums on a lattice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import optimize, special

from dircal._core.caching import cached_property
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray

__all__ = ["TiltedMean"]

# Probabilities (m, k) of some rows, and their values (k,).
_Part: TypeAlias = tuple[FloatArray, FloatArray]
# No probability is less: an event that was predicted to be impossible stays possible.
_LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class TiltedMean:
    """Confidence distribution of the mean of rows, from their predicted distributions.

    Parameters
    ----------
    parts : sequence of pairs of arrays (m, k) and (k,)
        Rows that share their values: the probabilities of each row, and the values.
    mean : float
        The observed mean of all rows.
    """

    parts: Sequence[_Part]
    mean: float

    @cached_property
    def _n(self) -> int:
        return sum(len(proba) for proba, _ in self.parts)

    @cached_property
    def _base(self) -> float:
        """Sum of the smallest values."""
        return float(sum(len(proba) * values.min() for proba, values in self.parts))

    @cached_property
    def _unit(self) -> float:
        """Largest difference of two values of a row: tilts are in its inverse."""
        return max(float(np.ptp(values)) for _, values in self.parts)

    @cached_property
    def _scaled(self) -> list[_Part]:
        return [
            (np.maximum(proba, _LEAST_PROBABILITY), (values - values.min()) / self._unit)
            for proba, values in self.parts
        ]

    @cached_property
    def _top(self) -> float:
        """The largest possible sum; the smallest is zero."""
        return float(sum(len(proba) * values.max() for proba, values in self._scaled))

    @cached_property
    def _sum(self) -> float:
        """The observed sum, exactly that of an end where it differs by rounding only."""
        found = (self.mean * self._n - self._base) / self._unit
        slack = RESAMPLING_LIMITS.get().same_sum * max(1.0, abs(found))
        return 0.0 if found <= slack else self._top if found >= self._top - slack else found

    @cached_property
    def _step(self) -> float:
        """The smallest difference of two values, by which sums are apart."""
        steps = [np.diff(np.unique(values)) for _, values in self._scaled]
        found = np.concatenate(steps)
        return float(found[found > RESAMPLING_LIMITS.get().same_sum].min())

    def _cumulants(self, tilt: float) -> tuple[float, float, float, float]:
        """The cumulant generating function of the sum and three derivatives."""
        total = np.zeros(4)
        for proba, values in self._scaled:
            exponent = tilt * values
            largest = exponent.max()
            weights = np.exp(exponent - largest)
            moments = proba @ (weights[:, None] * values[:, None] ** np.arange(4))
            first, second, third = (moments[:, j] / moments[:, 0] for j in (1, 2, 3))
            total[0] += np.log(moments[:, 0]).sum() + len(proba) * largest
            total[1] += first.sum()
            total[2] += np.maximum(second - first**2, 0.0).sum()
            total[3] += (third - 3.0 * first * second + 2.0 * first**3).sum()
        value, first_derivative, second_derivative, third_derivative = total.tolist()
        return value, first_derivative, second_derivative, third_derivative

    def _tilt_of(self, wanted: float) -> float:
        """The tilt under which ``wanted`` is the mean of the sum; infinite at the ends."""
        if wanted <= 0.0 or wanted >= self._top:
            return float(np.copysign(np.inf, wanted - 0.5 * self._top))
        return _root(lambda tilt: self._cumulants(tilt)[1] - wanted)

    @cached_property
    def _saddle(self) -> tuple[float, tuple[float, float, float, float]]:
        """The tilt under which the observed sum is the mean, and the cumulants there."""
        tilt = self._tilt_of(self._sum)
        return tilt, self._cumulants(tilt)

    @cached_property
    def _log_end(self) -> float:
        """Log-probability of the end at which the sum is, before tilting."""
        extreme = np.min if self._sum == 0.0 else np.max
        return float(
            sum(
                np.log(proba[:, values == extreme(values)].sum(axis=1)).sum()
                for proba, values in self._scaled
            )
        )

    def _tail(self, tilt: float, sign: float) -> float:
        """Probability of a sum at least (sign 1) or at most (-1) as observed, if tilted."""
        if self._sum in (0.0, self._top):
            if (self._sum == 0.0) == (sign > 0.0):
                return 1.0
            value = self._cumulants(tilt)[0]
            return min(float(np.exp(self._log_end + tilt * self._sum - value)), 1.0)
        saddle, (value, _, variance, third) = self._saddle
        beyond, spread = sign * (saddle - tilt), np.sqrt(variance)
        drop = self._cumulants(tilt)[0] - value + (saddle - tilt) * self._sum
        root = float(np.copysign(np.sqrt(2.0 * max(drop, 0.0)), beyond))
        if abs(root) < RESAMPLING_LIMITS.get().min_saddle_root:
            correction = -sign * third / (6.0 * spread**3) + 0.5 * self._step / spread
        else:
            with np.errstate(over="ignore"):
                width = -np.expm1(-beyond * self._step) / self._step
            correction = 1.0 / (width * spread) - 1.0 / root
        density = np.exp(-0.5 * root**2) / np.sqrt(2.0 * np.pi)
        return float(np.clip(special.ndtr(-root) + density * correction, 0.0, 1.0))

    def position(self, value: float) -> float:
        """Confidence that the mean is below ``value``: discrete tails are counted in full."""
        if self._unit == 0.0:
            gap = value - self.mean
            slack = RESAMPLING_LIMITS.get().same_sum * max(1.0, abs(value))
            return 0.5 if abs(gap) <= slack else float(gap > 0.0)
        tilt = self._tilt_of((value * self._n - self._base) / self._unit)
        if np.isinf(tilt):
            end = self._top if tilt > 0.0 else 0.0
            return 0.5 if self._sum == end else float(tilt > 0.0)
        above, below = self._tail(tilt, 1.0), self._tail(tilt, -1.0)
        return above if above < 0.5 else 1.0 - below if below < 0.5 else 0.5

    def quantile(self, confidence: float) -> float:
        """The mean under the tilt that leaves so much in the tail."""
        if self._unit == 0.0:
            return self.mean
        sign = 1.0 if confidence < 0.5 else -1.0
        tail = min(confidence, 1.0 - confidence)
        if self._sum == (0.0 if sign > 0.0 else self._top):
            return self.mean
        tilt = _root(lambda tilt: sign * (self._tail(tilt, sign) - tail))
        return (self._base + self._unit * self._cumulants(tilt)[1]) / self._n


def _root(increasing: Callable[[float], float]) -> float:
    """The zero of an increasing function, wherever it is."""
    low, high = -1.0, 1.0
    while increasing(low) > 0.0:
        low *= 2.0
    while increasing(high) < 0.0:
        high *= 2.0
    return float(optimize.brentq(increasing, low, high, xtol=1e-12))
