"""Rows by how sure the classifier was."""

from collections.abc import Iterable
from typing import Any

from dircal._core.stats.bins import BinTable
from dircal._typing import ArrayLike
from dircal.metrics._binning import Binning, Strategy, check_bins
from dircal.metrics._curves import ConfidenceCurve
from dircal.metrics._predictions import Predictions
from dircal.metrics._rows import ConfidenceRows

__all__ = ["confidence_bins", "confidence_bins_from_confidence"]


def confidence_bins(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> BinTable:
    """Rows by their largest probability: how sure the classifier was, and how often right.

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
        With one curve. Tables of parts of the rows add up: ``sum(tables)``.

    Examples
    --------
    >>> from dircal.metrics import confidence_bins
    >>> table = confidence_bins([0, 1, 1], [[0.9, 0.1], [0.4, 0.6], [0.6, 0.4]], n_bins=2)
    >>> table.count
    array([[0., 3.]])
    >>> table.observed
    array([[0., 2.]])
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return predictions.table(ConfidenceCurve(), check_bins(n_bins, strategy, binning))


def confidence_bins_from_confidence(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> BinTable:
    """`confidence_bins` where only the largest probability of each row is known.

    Parameters
    ----------
    correct : array-like (n,)
        Whether the most probable class was the true one.
    confidence : array-like (n,)
        Its probability.
    sample_weight : array-like (n,), optional
        Weight of each row.
    n_bins : int, default=15
        Number of bins.
    strategy : {"width", "mass"}, default="width"
        Bins of equal width, or with equally many rows.
    binning : {"right_closed", "paper_table"}, default="right_closed"
        The end that belongs to a bin; "paper_table" is explained in `classwise_ece`.

    Returns
    -------
    BinTable
        With one curve.

    Examples
    --------
    >>> from dircal.metrics import confidence_bins_from_confidence
    >>> confidence_bins_from_confidence([True, False, True], [0.9, 0.6, 0.6], n_bins=2).frequency
    array([[       nan, 0.66666667]])
    """
    rows = ConfidenceRows.check(correct, confidence, sample_weight)
    return rows.table(ConfidenceCurve(), check_bins(n_bins, strategy, binning))
