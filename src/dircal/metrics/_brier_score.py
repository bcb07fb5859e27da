"""The quadratic loss."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from dircal._core.data.losses import squared_errors
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics._blocks import Block
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import RowMean
from dircal.tables import check_option

__all__ = ["brier_score"]

Normalisation: TypeAlias = Literal["none", "classes"]


def brier_score(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    normalisation: Normalisation = "none",
) -> float:
    r"""Mean squared distance of the probabilities from the truth; lower is better.

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
    normalisation : {"none", "classes"}, default="none"
        Sum over the classes, as Brier did; or divide that by their number, as the paper's tables
        do.

    Returns
    -------
    float
        Between 0 and 2, or between 0 and 2 / k.

    Notes
    -----
    .. math:: \frac{1}{n} \sum_i w_i \sum_j (p_{ij} - 1[y_i = j])^2

    with probabilities :math:`p_{ij}`, labels :math:`y_i`, weights :math:`w_i` and
    :math:`n = \sum_i w_i`. It is a proper loss, as the log-loss, but bounded: one sure miss costs
    2 and no more. For two classes it is twice the binary score that scikit-learn reports by
    default. Of soft labels :math:`t_{ij}` it is the mean over the labels that a row may have: the
    squared distance :math:`\sum_j (p_{ij} - t_{ij})^2` plus :math:`1 - \sum_j t_{ij}^2`.

    **When not to use it.** Rare classes hardly move it.

    Examples
    --------
    >>> from dircal.metrics import brier_score
    >>> round(brier_score([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.2733
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions, normalisation).value(predictions)


def _quantity(predictions: Predictions, normalisation: Normalisation) -> RowMean:
    check_option("normalisation", normalisation, ("none", "classes"))
    divisor = 1 if normalisation == "none" else predictions.n_classes
    return RowMean(_losses, divisor)


def _losses(block: Block) -> FloatArray:
    return squared_errors(block.proba, block.label_or_mode, block.targets)


publish(
    Measure(
        brier_score,
        _quantity,
        title="Brier score",
        judges="mean squared error of the probabilities",
        interval=IntervalRule.BCA,
        place=40,
        shown_in=Table.EVERYWHERE,
        heading="Brier\nscore",
    )
)
