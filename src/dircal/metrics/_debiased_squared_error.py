"""The squared calibration error, without the part that chance adds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._core.stats.bins import Bins, debiased_squares
from dircal._core.stats.bootstrap import RowTerms
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics._binning import Binning, Strategy, check_bins
from dircal.metrics._blocks import Block
from dircal.metrics._curves import Curves, Over, check_over
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import AbstractFolded, Entries, Summed, sum_cells

__all__ = ["debiased_squared_error"]


def debiased_squared_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
    over: Over = "confidence",
    label: Any = None,
) -> float:
    r"""Squared calibration error that is zero on average for a calibrated model.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    sample_weight : array-like (n,), optional
        Weight of each row; a weight of two counts like two rows. Their sum is the number of rows
        that they stand for, so their scale matters here.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows each as far as ties allow.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        Bins (a, b], the first with 0; or those of the paper's cw-ECE tables, see `classwise_ece`.
    over : {"confidence", "classes"}, default="confidence"
        Top-label calibration, of the largest probability of each row; or marginal calibration, of
        the probability of each class, averaged over the classes.
    label : object, optional
        With ``over="classes"``, the one class to look at.

    Returns
    -------
    float
        At most 1. Below zero about half of the time where the model is calibrated.

    Notes
    -----
    With residuals :math:`r_i = o_i - p_i` of the rows in bin b, where :math:`o_i` is one if what
    was predicted with probability :math:`p_i` happened, their mean :math:`\bar r_b`, and the
    weight :math:`n_b` of the bin,

    .. math:: \sum_b \frac{n_b}{n} \left( \bar r_b^2 -
              \frac{\sum_{i \in b} w_i (r_i - \bar r_b)^2}{n_b (n_b - 1)} \right)

    The second term is what chance adds to the first on average. For predictions that are all equal
    within a bin it is :math:`f_b (1 - f_b) / (n_b - 1)` with the frequency :math:`f_b`, the
    estimator of [1]_; where they differ, that one takes off too much on average, by their variance
    over :math:`n_b`. Bins with no more than one row say nothing about chance and count as zero.

    *What it estimates.* The mean squared difference between frequency and probability, after
    averaging both within each bin. Its square root is comparable with an ECE; the square itself
    has no bias.

    *Bias.* None for given bins. What averaging within bins hides stays hidden, so it is never more
    than the error of the probabilities themselves, on average.

    **When not to use it.** As a number to report for one model on few rows: values below zero are
    hard to explain, and its spread is wide. Do not take the root of its positive part and average
    that: the bias is back.

    References
    ----------
    .. [1] Kumar, Liang and Ma (2019). Verified uncertainty calibration. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from dircal.metrics import debiased_squared_error
    >>> y_prob = np.tile([0.7, 0.3], (10, 1))
    >>> round(debiased_squared_error([0] * 5 + [1] * 5, y_prob), 4)  # 0.2**2 - 0.25 / 9
    0.0122
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, n_bins, strategy, binning, over, label).value(predictions)


def _quantity(
    predictions: Predictions,
    n_bins: int,
    strategy: Strategy,
    binning: Binning,
    over: Over,
    label: Any,
) -> "_SquaredGaps":
    curves = check_over(over, label, predictions.position)
    rule = predictions.settle(curves, check_bins(n_bins, strategy, binning))
    return _SquaredGaps(_SquaresOf(curves, rule.make(predictions.dtype)))


@dataclass(frozen=True, eq=False)
class _SquaresOf:
    """Weights, residuals and squared residuals (3, c, m) of the bins of some curves."""

    curves: Curves[Block]
    bins: Bins

    def __call__(self, block: Block) -> FloatArray:
        m, points = self.bins.n_bins, self.curves.points(block)
        n_curves, n_rows = points.values.shape
        cells = self.bins.index(points.values) + np.arange(n_curves)[:, None] * m
        weight = np.ones(n_rows) if points.weight is None else points.weight
        weights = np.broadcast_to(weight, points.values.shape)
        residuals = points.residuals
        counted = [
            np.bincount(cells.ravel(), term.ravel(), minlength=n_curves * m)
            for term in (weights, weights * residuals, weights * residuals**2)
        ]
        return np.stack(counted, dtype=np.float64).reshape(3, n_curves, m)

    def terms(self, block: Block) -> RowTerms:
        """What each row adds."""
        m, points = self.bins.n_bins, self.curves.points(block)
        index, residuals = self.bins.index(points.values), points.residuals
        entries: Entries = [(index, 1.0), (index + m, residuals), (index + 2 * m, residuals**2)]
        cells = sum_cells(points, 3 * m, entries)
        return RowTerms(np.empty((0, cells.shape[0])), cells)

    def read(self, sums: FloatArray) -> FloatArray:
        """The value (..., 1)."""
        by_kind = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, 3, self.bins.n_bins), -2, 0)
        means: FloatArray = debiased_squares(*by_kind).mean(axis=-1)
        return means[..., None]


@dataclass(frozen=True)
class _SquaredGaps(AbstractFolded[FloatArray]):
    """From weights, residuals and squared residuals of the bins."""

    squares: _SquaresOf

    @property
    def of_block(self) -> _SquaresOf:
        return self.squares

    def finish(self, sums: FloatArray) -> float:
        return float(debiased_squares(*sums).mean())

    def sums(self, predictions: Predictions) -> Summed:
        n_cells = predictions.fold_once(self.squares).size
        return Summed((0, n_cells), self.squares.terms, self.squares.read)


publish(
    Measure(
        debiased_squared_error,
        _quantity,
        title="Debiased squared error",
        judges="squared gap less what chance adds; below zero half of the time if calibrated",
        interval=IntervalRule.SHIFTED,
        place=90,
        shown_in=Table.COMPARISON | Table.EVALUATION,
    )
)
