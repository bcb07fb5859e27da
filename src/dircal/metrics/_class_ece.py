"""Whether the probability of one class is what it says."""

from collections.abc import Iterable
from typing import Any

from dircal._typing import ArrayLike
from dircal.metrics._binning import Binning, Strategy, check_bins
from dircal.metrics._curves import OneClassCurve
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import GapSum

__all__ = ["class_ece"]


def class_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    label: Any,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
) -> float:
    r"""Expected calibration error of the probability of one class; lower is better.

    Parameters
    ----------
    y_true : array-like (n,) or (n, k)
        True labels, or soft ones with the columns of ``y_prob``: probabilities, or integers that
        count annotators.
    y_prob : array-like (n, k), or (n,) for two classes
        Probability of each class, or of the positive one.
    label : label
        The class.
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
    .. math:: \sum_b \frac{n_b}{n} \, |\mathrm{frequency}_b - \bar p_b|

    over the bins b of the probability of the class, with the weight :math:`n_b` of the rows in
    the bin, the share of them that belong to the class, and the mean of the probability. The mean
    of it over the classes is `classwise_ece`.

    **When not to use it.** For a rare class nearly all rows lie in the first bin, and the value is
    small whatever happens in the others. It is biased as `confidence_ece` is.

    Examples
    --------
    >>> from dircal.metrics import class_ece
    >>> round(class_ece(["a", "b", "b"], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], "b"), 4)
    0.3
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, label, n_bins, strategy, binning).value(predictions)


def _quantity(
    predictions: Predictions, label: Any, n_bins: int, strategy: Strategy, binning: Binning
) -> GapSum:
    curve = OneClassCurve(predictions.position(label))
    rule = predictions.settle(curve, check_bins(n_bins, strategy, binning))
    return GapSum(curve, rule, predictions.dtype)


publish(
    Measure(
        class_ece,
        _quantity,
        title="Class ECE",
        judges="mean gap between the probability of one class and how often it happens",
        interval=IntervalRule.ABSOLUTE_SUM,
        place=60,
        # It has to be told which class.
        shown_in=Table.NOWHERE,
    )
)
