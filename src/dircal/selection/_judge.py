"""Candidates on rows that were kept back: their losses, and which of them are out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from sklearn.base import clone

from dircal._core.stats.paired import PairedDifference, paired_difference
from dircal._typing import FloatArray
from dircal.calibrators import AbstractCalibrator
from dircal.selection._base import losses_of
from dircal.selection._splits import Split
from dircal.tables import ArrayRows

__all__ = ["CrossFit", "Judge", "above_zero", "without_optimum"]


class Judge:
    """Means and paired comparisons of losses on the rows that were kept back.

    ``scored`` are these rows in the order of the folds. A row that several folds keep back is one
    row with a mean loss: to score it again makes no second one of it.
    """

    def __init__(self, data: ArrayRows, scored: npt.NDArray[np.intp]) -> None:
        rows, self.place, self.times = np.unique(scored, return_inverse=True, return_counts=True)
        weight = data.sample_weight
        self.weight = None if weight is None else weight[rows]
        self.n = float(len(rows)) if self.weight is None else float(self.weight.sum())

    def by_row(self, losses: FloatArray) -> FloatArray:
        """Loss of each row, from losses in the order of the folds."""
        of_rows: FloatArray = np.bincount(self.place, losses) / self.times
        return of_rows

    def mean(self, losses: FloatArray) -> float:
        """Weighted mean."""
        return float(np.average(losses, weights=self.weight))

    def compare(self, losses: FloatArray, others: FloatArray) -> PairedDifference:
        """Losses less those of another."""
        share = None if self.weight is None else self.weight / self.n
        return paired_difference(losses - others, share, self.n)


@dataclass(frozen=True)
class CrossFit:
    """Losses of rows that were kept back, in the order of the folds, and how the fits ended."""

    losses: FloatArray
    finite: bool
    """Whether every fit has a finite optimum."""

    @classmethod
    def of(cls, candidate: AbstractCalibrator, data: ArrayRows, splits: list[Split]) -> "CrossFit":
        """Fit without each fold in turn."""
        losses, finite, method = [], True, clone(candidate).method()
        for fitting, scoring in splits:
            fit = method.fit(data.take(fitting))
            losses.append(losses_of(fit, data.take(scoring)))
            finite = finite and fit.has_finite_optimum
        return cls(np.concatenate(losses), finite)


def without_optimum(
    candidates: list[AbstractCalibrator], folds: list[CrossFit], data: ArrayRows
) -> list[bool]:
    """Which candidates have no finite optimum on all rows; none of them if all have none.

    A direction that separates all rows separates those of some fold, so only these are asked.
    """
    endless = [
        not each.finite and not clone(candidate).method().fit(data).has_finite_optimum
        for candidate, each in zip(candidates, folds, strict=True)
    ]
    return [False] * len(endless) if all(endless) else endless


def above_zero(difference: PairedDifference) -> float:
    """Probability that the true difference is above zero; none if there is no difference."""
    if difference.mean == 0.0:
        return 0.0
    if difference.standard_error == 0.0:
        return float(difference.mean > 0.0)
    return float(ndtr(difference.mean / difference.standard_error))
