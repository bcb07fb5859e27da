"""Measures of rows that were drawn again, and what they say about the true value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dircal._core.stats.confidence import (
    AbsoluteSumInversion,
    BCaBootstrap,
    BiasShiftedBootstrap,
    ConfidenceDistribution,
    Moments,
    StudentisedMean,
)
from dircal._core.stats.row_blocks import ignore
from dircal._progress import Progress
from dircal._typing import FloatArray
from dircal.metrics import IntervalRule, Predictions

__all__ = ["Draws", "MeanDraws", "OtherDraws", "draws_of_sums", "watcher_of"]


class Draws(Protocol):
    """A measure of some rows, and of rows drawn again."""

    def confidence(self) -> ConfidenceDistribution:
        """How sure we may be that the true value is below another."""

    def without_bias(self, value: float) -> float:
        """The ``value`` of the measure, less what chance adds on average."""

    def differences(self, other: Any) -> list[ConfidenceDistribution]:
        """The confidence of this value less that of the ``other``, in one way or in several."""


def draws_of_sums(rule: IntervalRule, observed: FloatArray, drawn: FloatArray) -> Draws:
    """Draws of a measure that is no mean, from what its sums say of the rows and of each draw."""
    if rule is IntervalRule.ABSOLUTE_SUM:
        return GapDraws(observed, drawn)
    return OtherDraws(drawn[:, 0], float(observed[0]))


@dataclass(frozen=True, eq=False)
class MeanDraws:
    """Draws (B,) of the mean of what rows lose, and the moments of that.

    ``beyond`` are the moments of what rows lose more than by the predictions that come first; None
    for these.
    """

    values: FloatArray
    moments: Moments
    beyond: Moments | None

    def confidence(self) -> ConfidenceDistribution:
        """Corrected for bias and skewness."""
        return BCaBootstrap(self.values, self.moments)

    def without_bias(self, value: float) -> float:
        """A mean has none."""
        return value

    def differences(self, other: "MeanDraws") -> list[ConfidenceDistribution]:
        """A difference of means is the mean of differences, which needs no draws."""
        assert self.beyond is not None
        assert other.beyond is None
        return [StudentisedMean(self.beyond, len(self.values))]


@dataclass(frozen=True, eq=False)
class GapDraws:
    """Gaps (c,) whose absolute values add up to the measure, and those of each draw (B, c).

    ``null`` (B, c) are the gaps of labels that are drawn from the predictions, if they are known.
    """

    gaps: FloatArray
    drawn: FloatArray
    null: FloatArray | None = None

    def confidence(self) -> ConfidenceDistribution:
        """Corrected for what chance adds to absolute values."""
        return AbsoluteSumInversion(self.gaps, self.drawn - self.gaps, self.null)

    def without_bias(self, value: float) -> float:
        """The error for which the measured one is the median."""
        return min(value, self.confidence().quantile(0.5))

    def differences(self, other: "GapDraws") -> list[ConfidenceDistribution]:
        """Less the bias of the draws, once and twice.

        What was measured has a bias, and draws have it once more. Less once, they surround the
        difference as measured; less twice, the difference without bias.
        """
        drawn, measured = (
            np.abs(mine).sum(axis=-1) - np.abs(others).sum(axis=-1)
            for mine, others in ((self.drawn, other.drawn), (self.gaps, other.gaps))
        )
        bias = float(drawn.mean() - measured)
        return [BiasShiftedBootstrap(drawn, bias), BiasShiftedBootstrap(drawn, 2.0 * bias)]


@dataclass(frozen=True, eq=False)
class OtherDraws:
    """Draws (B,) of any other measure, and its value."""

    values: FloatArray
    value: float

    def confidence(self) -> ConfidenceDistribution:
        """Shifted so that the draws surround the value."""
        return BiasShiftedBootstrap(self.values, float(self.values.mean()) - self.value)

    def without_bias(self, value: float) -> float:
        """Nothing is known of it."""
        return value

    def differences(self, other: "OtherDraws") -> list[ConfidenceDistribution]:
        """Shifted so that the differences surround the difference."""
        both = OtherDraws(self.values - other.values, self.value - other.value)
        return [both.confidence()]


def watcher_of(several: Sequence[Predictions], progress: Progress) -> Callable[[int], None]:
    """What tells the ``progress``; nobody where the rows are folded in other processes."""
    here = all(one.source.is_in_memory for one in several)
    return progress.advance if here else ignore
