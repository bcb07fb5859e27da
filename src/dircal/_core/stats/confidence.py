"""Confidence distributions: how sure a bootstrap leaves us that a number is below a value.

Each class here answers two questions about an unknown number. ``position(v)``: how sure may we be
that it is below v? ``quantile(a)``: below which value may we be sure of it by so much? An interval
has two quantiles as its ends, and a p-value is a position, so both agree up to a draw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy import optimize, special

from dircal._core.caching import cached_property
from dircal._core.stats.limits import RESAMPLING_LIMITS
from dircal._typing import FloatArray

__all__ = [
    "AbsoluteSumInversion",
    "BCaBootstrap",
    "BiasShiftedBootstrap",
    "ConfidenceDistribution",
    "Moments",
    "StudentisedMean",
    "interval_of",
    "powers_beyond",
    "two_sided",
]


class ConfidenceDistribution(Protocol):
    """How sure we may be that an unknown number is below a value."""

    def position(self, value: float) -> float:
        """Confidence that the number is below ``value``."""

    def quantile(self, confidence: float) -> float:
        """The value below which the number is with this confidence."""


def interval_of(confidence: ConfidenceDistribution, level: float) -> tuple[float, float]:
    """Both ends of an interval that leaves as much confidence on either side."""
    tail = (1.0 - level) / 2.0
    return confidence.quantile(tail), confidence.quantile(1.0 - tail)


def two_sided(confidences: Sequence[ConfidenceDistribution], value: float) -> float:
    """P-value of the hypothesis that the number is ``value``: the largest where there are several.

    One minus the level of the widest interval that leaves the value out.
    """
    positions = [confidence.position(value) for confidence in confidences]
    return max(min(1.0, 2.0 * min(p, 1.0 - p)) for p in positions)


def _share_below(draws: FloatArray, value: float) -> float:
    """Share of the draws below ``value``, equal ones by half; never quite 0 or 1."""
    slack = _slack(value)
    below = np.mean(draws < value - slack)
    share = below + 0.5 * (1.0 - below - np.mean(draws > value + slack))
    return _as_sure_as(len(draws), float(share))


def _slack(value: float) -> float:
    """By how much sums may differ from ``value`` and be the same."""
    return RESAMPLING_LIMITS.get().same_sum * max(1.0, abs(value))


def _as_sure_as(n_draws: int, share: float) -> float:
    """No nearer to 0 or 1 than so many draws can tell."""
    least = 1.0 / (2.0 * n_draws)
    return min(max(share, least), 1.0 - least)


@dataclass(frozen=True, eq=False)
class Moments:
    """The ``mean`` of n values, and the sums (5,) of the second to sixth powers beyond it."""

    n: int
    mean: float
    powers: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Of values (n,)."""
        mean = float(values.mean())
        return cls(len(values), mean, powers_beyond(values, mean))

    def central(self, order: int) -> float:
        """Mean of the powers of an order from two to six."""
        return float(self.powers[order - 2]) / self.n


def powers_beyond(values: FloatArray, mean: float) -> FloatArray:
    """Sums (5,) of the second to sixth powers of what ``values`` (n,) exceed a ``mean`` by."""
    deviations = values - mean
    squares = deviations * deviations
    cubes = squares * deviations
    fourths = squares * squares
    pairs = [(deviations, deviations), (squares, deviations), (squares, squares)]
    pairs += [(cubes, squares), (fourths, squares)]
    # Products, since a power of three takes sixty times as long.
    return np.array([one @ other for one, other in pairs])


@dataclass(frozen=True, eq=False)
class BCaBootstrap:
    r"""Of a mean, from its bootstrap ``draws``, corrected for bias and skewness.

    The bias-corrected and accelerated bootstrap, BCa (Efron and Tibshirani 1993, chapter 14).
    ``moments`` are those of what the mean is taken of. With :math:`z_0` the normal quantile of the
    share of draws below the mean and :math:`a` a sixth of the skewness of the mean, the end of an
    interval of normal quantile z is the quantile of the draws at
    :math:`\Phi(z_0 + (z_0 + z) / (1 - a (z_0 + z)))`.
    """

    draws: FloatArray
    moments: Moments

    @cached_property
    def _bias(self) -> float:
        return float(special.ndtri(_share_below(self.draws, self.moments.mean)))

    @cached_property
    def _acceleration(self) -> float:
        squares, cubes = self.moments.powers[:2].tolist()
        return float(cubes / (6.0 * squares**1.5)) if squares > 0.0 else 0.0

    def position(self, value: float) -> float:
        """Undo the two corrections."""
        beyond = special.ndtri(_share_below(self.draws, value)) - self._bias
        share = special.ndtr(beyond / (1.0 + self._acceleration * beyond) - self._bias)
        return _as_sure_as(len(self.draws), float(share))

    def quantile(self, confidence: float) -> float:
        """A quantile of the draws."""
        moved = self._bias + special.ndtri(confidence)
        left = 1.0 - self._acceleration * moved
        # So far out that the correction has no answer: the last draw is the best one.
        far = np.copysign(np.inf, moved)
        place = special.ndtr(self._bias + moved / left if left > 0.0 else far)
        return float(np.quantile(self.draws, place))


@dataclass(frozen=True, eq=False)
class StudentisedMean:
    r"""Of a mean, from the moments of what it is taken of: Student's t less its skewness.

    The transformation of Hall (1992, On the removal of skewness by transformation, JRSS B). With
    the mean m, the standard deviation s and the skewness :math:`\gamma` of the values, a mean v is
    judged by :math:`W = (m - v) / s`, and

    .. math:: \sqrt n \left(W + \frac{\gamma W^2}{3} + \frac{\gamma^2 W^3}{27}
        + \frac{\gamma}{6 n}\right)

    is compared with Student's distribution of n - 1 degrees of freedom. Values with heavy tails
    have a skewness by chance, which would make the test liberal: it is shrunk by its standard
    error, towards the t-test. One row alone tells nothing. No draws are needed, but nothing is
    surer than ``n_draws`` of them would be: so far out no approximation is to be trusted.
    """

    moments: Moments
    n_draws: int

    @cached_property
    def _spread(self) -> float:
        """Standard deviation; zero where values differ by rounding only."""
        spread = float(np.sqrt(self.moments.powers[0] / (self.moments.n - 1)))
        return (
            spread
            if spread > RESAMPLING_LIMITS.get().same_sum * max(1.0, abs(self.moments.mean))
            else 0.0
        )

    @cached_property
    def _skewness(self) -> float:
        """Shrunk as in `_SKEWNESS_BY_CHANCE`; its standard error is that of the delta method.

        The influence of a value is z^3 - g - 3 z - 3/2 g (z^2 - 1), with the standardised value z
        and the skewness g; the mean of its square is a sum of moments.
        """
        scale = np.sqrt(self.moments.central(2))
        third, fourth, fifth, sixth = (self.moments.central(j) / scale**j for j in range(3, 7))
        influence = sixth - 6.0 * fourth + 9.0 - 3.0 * third * fifth
        influence += 2.25 * third**2 * fourth + 8.75 * third**2
        by_chance = RESAMPLING_LIMITS.get().chance_skewness * max(influence, 0.0) / self.moments.n
        return float(third - by_chance / third) if third**2 > by_chance else 0.0

    def position(self, value: float) -> float:
        """A probability of Student's distribution."""
        n, gap = self.moments.n, self.moments.mean - value
        if n < 2 or abs(gap) <= RESAMPLING_LIMITS.get().same_sum * max(1.0, abs(value)):
            return 0.5
        if self._spread == 0.0:
            return _as_sure_as(self.n_draws, float(gap < 0.0))
        skewness, ratio = self._skewness, gap / self._spread
        bent = ratio + skewness * ratio**2 / 3.0 + skewness**2 * ratio**3 / 27.0
        share = special.stdtr(n - 1, -np.sqrt(n) * (bent + skewness / (6.0 * n)))
        return _as_sure_as(self.n_draws, float(share))

    def quantile(self, confidence: float) -> float:
        """The transformation undone: it is a cube, but for a constant."""
        n = self.moments.n
        if n < 2:
            return float(np.copysign(np.inf, confidence - 0.5))
        if self._spread == 0.0:
            return self.moments.mean
        skewness = self._skewness
        bent = -special.stdtrit(n - 1, confidence) / np.sqrt(n) - skewness / (6.0 * n)
        ratio = 3.0 * (np.cbrt(1.0 + skewness * bent) - 1.0) / skewness if skewness else bent
        return self.moments.mean - self._spread * float(ratio)


@dataclass(frozen=True, eq=False)
class BiasShiftedBootstrap:
    """Of any number, from its bootstrap ``draws`` less a ``shift`` that removes their bias.

    Quantiles of the shifted draws are the percentile interval around the estimate.
    """

    draws: FloatArray
    shift: float

    def position(self, value: float) -> float:
        """Share of the shifted draws below."""
        return _share_below(self.draws, value + self.shift)

    def quantile(self, confidence: float) -> float:
        """A quantile of the shifted draws."""
        return float(np.quantile(self.draws, confidence) - self.shift)


@dataclass(frozen=True, eq=False)
class AbsoluteSumInversion:
    r"""Of a sum of absolute gaps, such as a calibration error, by inverting a test.

    Chance makes gaps of nothing, and absolute values never let it cancel: measured sums are too
    large, and sums of bootstrap draws, where chance strikes twice, still larger. So ask which true
    gaps would make the measured sum an ordinary one. With measured ``gaps`` :math:`g` (c,) and
    ``deviations`` :math:`d` (B, c) of the bootstrap draws from them, gaps :math:`\lambda g` would
    be measured as :math:`\sum_b |\lambda g_b + d_b|`. The confidence that the true sum is below
    :math:`\lambda \sum_b |g_b|` is the share of draws in which that exceeds
    :math:`\sum_b |g_b|`. Nothing is below zero.

    Bins with few events have too small deviations in the bootstrap, and none without an event. If
    the deviations :math:`e` (B, c) of calibrated labels are known (``null``), those for
    :math:`\lambda < 1` are :math:`\sqrt{1 - \lambda} \, e + \sqrt \lambda \, d`, because the
    variance of a frequency is nearly linear in it. At zero the confidence is then the p-value of
    the test of calibration.
    """

    gaps: FloatArray
    deviations: FloatArray
    null: FloatArray | None = None

    @cached_property
    def measured(self) -> float:
        """The sum of the absolute gaps."""
        return float(np.abs(self.gaps).sum())

    def position(self, value: float) -> float:
        """Confidence that the true sum is below ``value``."""
        if value < 0.0:
            return 0.0
        if self.measured == 0.0:
            return _as_sure_as(len(self.deviations), 1.0)
        return self._at(value / self.measured)

    def quantile(self, confidence: float) -> float:
        """Where the draw of one rank measures as much: more true error makes more of that."""
        limits = RESAMPLING_LIMITS.get()
        # No more confidence than there are draws to give it.
        confidence = _as_sure_as(len(self.deviations), confidence)
        if self.measured == 0.0 or self._at(0.0) >= confidence:
            return 0.0
        # The share of larger sums is a staircase, on which only halving finds a step. The sum at
        # that step is continuous, and nearly straight. It starts below: equal sums are not larger.
        place = len(self.deviations) - math.ceil(
            len(self.deviations) * confidence - limits.same_sum
        )
        larger = self.measured + _slack(self.measured)

        def excess(factor: float) -> float:
            return float(np.partition(self._sums(factor), place)[place]) - larger

        high = 1.0
        while excess(high) <= 0.0:
            high *= 2.0
        factor = optimize.brentq(
            excess, 0.0, high, xtol=limits.interval_tol**2, rtol=limits.interval_tol
        )
        return float(factor) * self.measured

    @cached_property
    def _room(self) -> FloatArray:
        """Filled again and again: memory that is new each time costs more than the sums."""
        return np.empty_like(self.deviations)

    def _sums(self, factor: float) -> FloatArray:
        """What would be measured (B,) if the true gaps were ``factor`` times the measured ones."""
        if self.null is None or factor >= 1.0:
            moved = np.add(self.deviations, factor * self.gaps, out=self._room)
        else:
            moved = np.multiply(self.deviations, np.sqrt(factor), out=self._room)
            moved += np.sqrt(1.0 - factor) * self.null
            moved += factor * self.gaps
        sums: FloatArray = np.abs(moved, out=moved).sum(axis=1)
        return sums

    def _at(self, factor: float) -> float:
        return 1.0 - _share_below(self._sums(factor), self.measured)
