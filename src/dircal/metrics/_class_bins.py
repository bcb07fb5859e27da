"""Rows by the probability of each class."""

from collections.abc import Iterable
from typing import Any

from dircal._core.stats.bins import BinTable
from dircal._typing import ArrayLike
from dircal.metrics._binning import Binning, Strategy, check_bins
from dircal.metrics._curves import ClassCurves
from dircal.metrics._predictions import Predictions

__all__ = ["class_bins"]


def class_bins(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> BinTable:
    """Rows by the probability of each class: what was predicted, and how often it happened.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    sample_weight : array-like (n,), optional
        Weight of each row.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.

    Returns
    -------
    BinTable
        With a curve for each class, in the sorted order of the labels. Tables of parts of the
        rows add up: ``sum(tables)``.

    Examples
    --------
    A file too large for memory is read in parts; bins of equal width are the same in each:

    >>> from dircal.metrics import class_bins
    >>> parts = [([0, 1], [[0.9, 0.1], [0.4, 0.6]]), ([1, 1], [[0.6, 0.4], [0.2, 0.8]])]
    >>> table = sum(class_bins(y, p, classes=[0, 1]) for y, p in parts)
    >>> table.calibration_errors.round(3).tolist()
    [0.325, 0.325]
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return predictions.table(ClassCurves(), check_bins(n_bins, strategy, binning))
