"""What a map learned by evidence reads, and the prior that belongs to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.mixture import mix_with_uniform, shrink_row_mean, uniform_weight
from dircal._core.bayes.prior import (
    GroupedGaussianPrior,
    curved_prior,
    diagonal_prior,
    full_prior,
    linear_prior,
)
from dircal._core.data.chunks import AbstractSums, Chunk
from dircal._core.data.rows import Rows, fold_together
from dircal._core.model.limits import MODEL_LIMITS
from dircal._core.model.penalty import GROUPS
from dircal._core.model.statistics import curve_statistics
from dircal._core.model.structure import Full
from dircal._typing import FloatArray

__all__ = ["MixedRows", "MixturePrior", "RowMoments"]


@dataclass(frozen=True)
class _Mixture:
    """Clipped scores to log-probabilities mixed with the uniform; see `mix_with_uniform`.

    Where the map is ``curved``, the statistics of its curves are stacked below.
    """

    slope: float
    weight: float
    normalised: bool
    row_mean_factor: float = 1.0
    curved: bool = False

    def __call__(self, scores: FloatArray) -> FloatArray:
        mixed = mix_with_uniform(scores, self.slope, self.weight, normalised=self.normalised)
        if not self.curved:
            return shrink_row_mean(mixed, self.row_mean_factor)
        statistics = curve_statistics(mixed)
        plain = shrink_row_mean(mixed, self.row_mean_factor)
        return np.concatenate([plain[None], statistics]).reshape(-1, mixed.shape[1])


@dataclass(frozen=True)
class MixedRows:
    """Rows after the mixture, the prior around the temperature map, and what the mixture is."""

    rows: Rows
    prior: GroupedGaussianPrior
    slope: float
    uniform_weight: float
    row_mean_factor: float

    def without_curves(self) -> "MixedRows":
        """The same for a linear map."""
        return self._simpler(linear_prior)

    def with_slopes_only(self) -> "MixedRows":
        """The same for a diagonal matrix."""
        return self._simpler(diagonal_prior)

    def _simpler(
        self, make: Callable[[int, FloatArray, float], GroupedGaussianPrior]
    ) -> "MixedRows":
        assert isinstance(self.rows.transform, _Mixture)
        mixture = replace(self.rows.transform, curved=False)
        k, mode = self.rows.n_classes, self.prior.mode[: len(GROUPS)]
        return replace(
            self,
            rows=replace(self.rows, transform=mixture),
            # The first parameter is the first of the diagonal.
            prior=make(k, mode, float(self.prior.centre[0])),
        )


@dataclass(frozen=True)
class MixturePrior:
    """What is expected of a map before any row is seen.

    Parameters
    ----------
    mode : array of shape (3,) or (6,)
        Precisions of the diagonal, the off-diagonal entries and the intercepts, and where the map
        is curved of the three groups of curves.
    normalised : bool
        Whether mixed scores are normalised, as those of SMS are.
    surprise : float
        How many rows the surprise is worth that a prediction without doubt is wrong: with n rows
        the weight of the uniform distribution is ``surprise / (n + 1)``.
    """

    mode: FloatArray
    normalised: bool
    surprise: float = 1.0

    @property
    def curved(self) -> bool:
        """Whether there are curves."""
        return len(self.mode) > len(GROUPS)

    def without_curves(self) -> "MixturePrior":
        """The same for a linear map."""
        return replace(self, mode=self.mode[: len(GROUPS)])

    def around(self, rows: Rows, clip: float, slope: float) -> MixedRows:
        """Rows mixed for a temperature map with a given clip and slope, and their prior.

        The slope of the mixture is that of the map, unless it is next to nothing: scores that
        point away from the labels would be wiped out, though a full map can use them.
        """
        return self.around_each(rows, [(clip, slope)])[0]

    def around_each(self, rows: Rows, maps: Sequence[tuple[float, float]]) -> list[MixedRows]:
        """The same for several maps, each a clip and a slope, in two passes for all of them."""
        clipped, slopes = [rows.with_clip(clip) for clip, _ in maps], [slope for _, slope in maps]
        k, weight = rows.n_classes, uniform_weight(rows.total_weight, self.surprise)
        if self.normalised:
            prior = full_prior(k, self.mode, 1.0)
            return [
                _mix(each, _Mixture(slope, weight, normalised=True), prior)
                for each, slope in zip(clipped, slopes, strict=True)
            ]
        moments = RowMoments.of_each(clipped)
        mixtures, priors = [], []
        for each, slope, of_each in zip(clipped, slopes, moments, strict=True):
            read = max(slope, of_each.least_slope(each.largest))
            mixtures.append(_Mixture(read, weight, normalised=False))
            make = curved_prior if self.curved else linear_prior
            priors.append(make(k, self.mode, slope / read))
        # A diagonal matrix has no entries that see the mean, and could not take it back.
        if isinstance(priors[0].base, Full):
            mixed = [replace(c, transform=m) for c, m in zip(clipped, mixtures, strict=True)]
            factors = [each.row_mean_factor for each in RowMoments.of_each(mixed)]
            mixtures = [
                replace(m, row_mean_factor=f) for m, f in zip(mixtures, factors, strict=True)
            ]
        return [
            _mix(each, replace(mixture, curved=self.curved), prior)
            for each, mixture, prior in zip(clipped, mixtures, priors, strict=True)
        ]


def _mix(rows: Rows, mixture: _Mixture, prior: GroupedGaussianPrior) -> MixedRows:
    mixed = replace(rows, transform=mixture)
    return MixedRows(mixed, prior, mixture.slope, mixture.weight, mixture.row_mean_factor)


@dataclass
class RowMoments(AbstractSums):
    """Weighted means over rows of the mean, its square and the variance of the scores of a row."""

    mean: float
    squared_mean: float
    variance: float

    @classmethod
    def of(cls, rows: Rows) -> "RowMoments":
        """In one pass."""
        return rows.fold(_row_moments)

    @classmethod
    def of_each(cls, views: Sequence[Rows]) -> "list[RowMoments]":
        """Of several views of the same rows, in one pass for all."""
        return fold_together([(rows, _row_moments) for rows in views])

    def least_slope(self, largest: float) -> float:
        """The slope that gives scores the least spread within a row; zero if they have none.

        ``largest`` is the largest absolute score, beside which they may be rounding.
        """
        if self.variance <= MODEL_LIMITS.get().min_spread * largest**2:
            return 0.0
        return BAYES_LIMITS.get().min_row_spread / float(np.sqrt(self.variance))

    @property
    def row_mean_factor(self) -> float:
        """The part that makes the means of rows no larger than the spread around them.

        With many classes nearly all log-probabilities are far below zero, and the mean of a row is
        by far the largest thing about it. Off-diagonal entries that the prior takes for independent
        would move a logit mostly by that mean.
        """
        if self.variance >= self.squared_mean:
            return 1.0
        return float(np.sqrt(self.variance / self.squared_mean))


def _row_moments(chunk: Chunk) -> RowMoments:
    means, weight = chunk.scores.mean(axis=0), chunk.weight
    deviations = chunk.scores - means
    variances = np.einsum("jm,jm->m", deviations, deviations) / len(deviations)
    return RowMoments(float(weight @ means), float(weight @ means**2), float(weight @ variances))
