"""What a map learned by evidence reads, and the prior that belongs to it."""

from dataclasses import dataclass, replace

import numpy as np

from dircal._core.bayes.evidence import GroupedGaussianPrior
from dircal._core.bayes.mixture import mix_with_uniform, shrink_row_mean, uniform_weight
from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.rows import Rows
from dircal._core.model.penalty import NO_SPREAD
from dircal._typing import FloatArray

__all__ = ["MixedRows", "MixturePrior"]

# Scores are not made flatter than this standard deviation within a row.
_LEAST_SPREAD = 1.0


@dataclass(frozen=True)
class _Mixture:
    """Clipped scores to log-probabilities mixed with the uniform; see `mix_with_uniform`."""

    slope: float
    weight: float
    normalised: bool
    row_mean_factor: float = 1.0

    def __call__(self, scores: FloatArray) -> FloatArray:
        mixed = mix_with_uniform(scores, self.slope, self.weight, normalised=self.normalised)
        return shrink_row_mean(mixed, self.row_mean_factor)


@dataclass(frozen=True)
class MixedRows:
    """Rows after the mixture, the prior around the temperature map, and what the mixture is."""

    rows: Rows
    prior: GroupedGaussianPrior
    slope: float
    row_mean_factor: float


@dataclass(frozen=True)
class MixturePrior:
    """Precisions ``mode`` (3,) of a prior, and whether mixed scores are ``normalised``."""

    mode: FloatArray
    normalised: bool

    def around(self, rows: Rows, clip: float, slope: float) -> MixedRows:
        """Rows mixed for a temperature map with a given clip and slope, and their prior.

        The slope of the mixture is that of the map, unless it is next to nothing: scores that
        point away from the labels would be wiped out, though a full map can use them.
        """
        clipped = rows.with_clip(clip)
        weight = uniform_weight(rows.total_weight)
        if self.normalised:
            mixed = replace(clipped, transform=_Mixture(slope, weight, normalised=True))
            return MixedRows(mixed, GroupedGaussianPrior(self.mode, 1.0), slope, 1.0)
        read = max(slope, _least_slope(clipped))
        mixture = _Mixture(read, weight, normalised=False)
        factor = _row_mean_factor(replace(clipped, transform=mixture))
        mixed = replace(clipped, transform=replace(mixture, row_mean_factor=factor))
        return MixedRows(mixed, GroupedGaussianPrior(self.mode, slope / read), read, factor)


@dataclass
class _RowMoments(AbstractSums):
    """Weighted means over rows of the squared mean and of the variance of the scores of a row."""

    squared_mean: float
    variance: float


def _row_moments(chunk: Chunk) -> _RowMoments:
    means = chunk.scores.mean(axis=0)
    deviations = chunk.scores - means
    variances = np.einsum("jm,jm->m", deviations, deviations) / len(deviations)
    return _RowMoments(float(chunk.weight @ means**2), float(chunk.weight @ variances))


def _least_slope(rows: Rows) -> float:
    """The slope that gives the scores of a row the least spread; zero if they have none."""
    variance = rows.fold(_row_moments).variance
    if variance <= NO_SPREAD * max(rows.largest, 1.0) ** 2:
        return 0.0
    return _LEAST_SPREAD / float(np.sqrt(variance))


def _row_mean_factor(rows: Rows) -> float:
    """The part that makes the means of rows no larger than the spread around them.

    With many classes nearly all log-probabilities are far below zero, and the mean of a row is by
    far the largest thing about it. Off-diagonal entries that the prior takes for independent would
    move a logit mostly by that mean.
    """
    moments = rows.fold(_row_moments)
    if moments.variance >= moments.squared_mean:
        return 1.0
    return float(np.sqrt(moments.variance / moments.squared_mean))
