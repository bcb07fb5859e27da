"""The bin that is most wrong."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._core.stats.bins import BinTable
from dircal._typing import ArrayLike
from dircal.metrics._binning import Binning, FixedBinRule, Strategy, check_bins
from dircal.metrics._blocks import Block
from dircal.metrics._curves import ConfidenceCurve, Curves, Over, PooledCurve
from dircal.metrics._measure import Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import AbstractFolded
from dircal.metrics._rows import ConfidenceRows, TableOf
from dircal.tables import check_option

__all__ = ["maximum_calibration_error", "maximum_calibration_error_from_confidence"]


def maximum_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
    over: Over = "confidence",
) -> float:
    r"""Largest gap between probability and frequency in any bin; lower is better.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    sample_weight : array-like (n,), optional
        Weight of each row; a weight of two counts like two rows.
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
        Bins of the largest probability of each row (the paper's table S17), or of the
        probabilities of all classes together (its table S8).

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    .. math:: \max_b |\mathrm{frequency}_b - \bar p_b|

    over the bins b that are not empty, with the share of rows in which it happened and the mean
    probability.

    **When not to use it.** The largest gap is usually that of the bin with the fewest rows, so it
    is mostly chance: one row alone in a bin can decide it. Prefer `confidence_ece` with
    ``strategy="mass"``.

    Examples
    --------
    >>> from dircal.metrics import maximum_calibration_error
    >>> round(maximum_calibration_error([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.6
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, n_bins, strategy, binning, over).value(predictions)


def _quantity(
    predictions: Predictions, n_bins: int, strategy: Strategy, binning: Binning, over: Over
) -> "_LargestGap":
    check_option("over", over, ("confidence", "classes"))
    curve: Curves[Block] = ConfidenceCurve() if over == "confidence" else PooledCurve()
    rule = predictions.settle(curve, check_bins(n_bins, strategy, binning))
    return _LargestGap(curve, rule, predictions.dtype)


@dataclass(frozen=True)
class _LargestGap(AbstractFolded[BinTable]):
    """From the table of the bins."""

    curve: Curves[Block]
    rule: FixedBinRule
    dtype: np.dtype[Any]

    @property
    def of_block(self) -> TableOf[Block]:
        return TableOf(self.curve, self.rule, self.dtype)

    def finish(self, sums: BinTable) -> float:
        return sums.largest_gap


publish(
    Measure(
        maximum_calibration_error,
        _quantity,
        title="Largest gap",
        judges="of any bin; mostly that with the fewest rows",
        interval=None,
        why_no_interval="It is the largest of many gaps, mostly that of the bin with the fewest "
        "rows, and drawing rows again makes it larger still, whatever the truth. Use "
        "'confidence_ece' or 'classwise_ece'.",
        place=100,
        shown_in=Table.EVERYWHERE,
        heading="\nMCE",
        number_format=".2f",
    )
)


def maximum_calibration_error_from_confidence(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> float:
    """`maximum_calibration_error` where only the largest probability of each row is known.

    Parameters
    ----------
    correct : array-like (n,)
        Whether the most probable class was the true one.
    confidence : array-like (n,)
        Its probability.
    sample_weight : array-like (n,), optional
        Weight of each row; a weight of two counts like two rows.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows each as far as ties allow.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        Bins (a, b], the first with 0; or those of the paper's cw-ECE tables, see `classwise_ece`.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from dircal.metrics import maximum_calibration_error_from_confidence
    >>> round(maximum_calibration_error_from_confidence([True, False, True], [0.9, 0.6, 0.8]), 4)
    0.6
    """
    rows = ConfidenceRows.check(correct, confidence, sample_weight)
    return rows.table(ConfidenceCurve(), check_bins(n_bins, strategy, binning)).largest_gap
