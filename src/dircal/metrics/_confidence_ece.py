"""Whether the classifier is right as often as it is sure."""

from collections.abc import Iterable
from typing import Any

from dircal._typing import ArrayLike
from dircal.metrics._binning import Binning, Strategy, check_bins
from dircal.metrics._curves import ConfidenceCurve
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import GapSum
from dircal.metrics._rows import ConfidenceRows

__all__ = ["confidence_ece", "confidence_ece_from_confidence"]


def confidence_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> float:
    r"""Expected calibration error of the largest probability; lower is better.

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

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    .. math:: \sum_b \frac{n_b}{n} \, |\mathrm{accuracy}_b - \mathrm{confidence}_b|

    over the bins b of the largest probability of each row, with the weight :math:`n_b` of the rows
    in the bin, the share of them that are right, and the mean of their largest probabilities.

    **When not to use it.** It looks at one number of each row: a model that confuses classes two
    and eight, or that is wrong about every class but the first, can have none. It is not a proper
    loss: predicting the class frequencies for every row has almost none. And it is biased: a
    perfectly calibrated model has a positive value that falls with the number of rows, so compare
    values on the same rows only, and use `calibration_test` to ask whether it is zero.

    Examples
    --------
    >>> from dircal.metrics import confidence_ece
    >>> round(confidence_ece([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.3
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, n_bins, strategy, binning).value(predictions)


def _quantity(
    predictions: Predictions, n_bins: int, strategy: Strategy, binning: Binning
) -> GapSum:
    rule = predictions.settle(ConfidenceCurve(), check_bins(n_bins, strategy, binning))
    return GapSum(ConfidenceCurve(), rule, predictions.dtype)


publish(
    Measure(
        confidence_ece,
        _quantity,
        title="Confidence ECE",
        judges="mean gap between how sure and how often right",
        interval=IntervalRule.ABSOLUTE_SUM,
        place=50,
        shown_in=Table.EVERYWHERE,
        heading="conf.\nECE",
    )
)


def confidence_ece_from_confidence(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> float:
    """`confidence_ece` where only the largest probability of each row is known.

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
    >>> from dircal.metrics import confidence_ece_from_confidence
    >>> round(confidence_ece_from_confidence([True, False, True], [0.9, 0.6, 0.8]), 4)
    0.3
    """
    rows = ConfidenceRows.check(correct, confidence, sample_weight)
    table = rows.table(ConfidenceCurve(), check_bins(n_bins, strategy, binning))
    return float(table.calibration_errors[0])
