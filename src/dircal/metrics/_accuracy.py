"""How often the most probable class is the true one."""

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from dircal._typing import ArrayLike
from dircal.metrics._blocks import Block
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import RowMean

__all__ = ["accuracy"]


def accuracy(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
) -> float:
    r"""Share of rows whose most probable class is the true one; higher is better.

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

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    .. math:: \frac{1}{n} \sum_i w_i \, 1[\arg\max_j p_{ij} = y_i]

    with probabilities :math:`p_{ij}`, labels :math:`y_i`, weights :math:`w_i` and
    :math:`n = \sum_i w_i`. Of classes that are equally probable the first in sorted order is the
    prediction.

    **When not to use it.** It says nothing about the probabilities: temperature scaling never
    changes it.

    Examples
    --------
    >>> from dircal.metrics import accuracy
    >>> accuracy(["cat", "dog", "dog"], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    0.6666666666666666
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions).value(predictions)


def _quantity(predictions: Predictions) -> RowMean:
    del predictions
    return RowMean(_hits)


def _hits(block: Block) -> npt.NDArray[Any]:
    return block.hits


publish(
    Measure(
        accuracy,
        _quantity,
        title="Accuracy",
        judges="share of rows whose most probable class is the true one",
        higher_is_better=True,
        interval=IntervalRule.BCA,
        place=10,
        shown_in=Table.EVERYWHERE,
        heading="acc-\nuracy",
        number_format=".1%",
    )
)
