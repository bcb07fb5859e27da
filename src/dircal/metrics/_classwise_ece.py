"""Whether the probabilities of all classes are what they say."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from dircal._typing import ArrayLike
from dircal.metrics._binning import Binning, Strategy, check_bins
from dircal.metrics._curves import ClassCurves
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import GapSum
from dircal.tables import check_option

__all__ = ["classwise_ece"]

Aggregate: TypeAlias = Literal["mean", "sum"]


def classwise_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    binning: Binning = "right_closed",
    aggregate: Aggregate = "mean",
) -> float:
    r"""Expected calibration error of every class, averaged; lower is better.

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
    aggregate : {"mean", "sum"}, default="mean"
        Mean over the classes, as the paper's equation, or their sum, as the paper's tables.

    Returns
    -------
    float
        The mean is at most 2 / k.

    Notes
    -----
    .. math:: \frac{1}{k} \sum_j \sum_b \frac{n_{jb}}{n} \,
              |\mathrm{frequency}_{jb} - \bar p_{jb}|

    over the classes j and the bins b of the probability of class j: see `class_ece`.

    The published tables were computed with ``aggregate="sum"`` and ``binning="paper_table"``:
    ``n_bins - 1`` bins of equal width closed on the left, and one more that holds only the
    probability one (14 + 1 for the default of 15).

    **When not to use it.** Most probabilities of many classes are nearly zero and so is their
    error: at k = 100 the mean cannot exceed 0.02, so never compare values of different k. It is
    biased as `confidence_ece` is.

    Examples
    --------
    >>> from dircal.metrics import classwise_ece
    >>> round(classwise_ece([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.3
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, n_bins, strategy, binning, aggregate).value(predictions)


def _quantity(
    predictions: Predictions,
    n_bins: int,
    strategy: Strategy,
    binning: Binning,
    aggregate: Aggregate,
) -> GapSum:
    check_option("aggregate", aggregate, ("mean", "sum"))
    divisor = predictions.n_classes if aggregate == "mean" else 1
    rule = predictions.settle(ClassCurves(), check_bins(n_bins, strategy, binning))
    return GapSum(ClassCurves(), rule, predictions.dtype, divisor)


publish(
    Measure(
        classwise_ece,
        _quantity,
        title="Classwise ECE",
        judges="the same for the probability of each class",
        interval=IntervalRule.ABSOLUTE_SUM,
        place=70,
        shown_in=Table.EVERYWHERE,
        heading="class\nECE",
        number_format=".4f",
    )
)
