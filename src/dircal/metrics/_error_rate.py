"""How often the most probable class is not the true one."""

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from dircal._typing import ArrayLike
from dircal.metrics._blocks import Block
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import RowMean

__all__ = ["error_rate"]


def error_rate(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
) -> float:
    r"""Share of rows whose most probable class is not the true one; lower is better.

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
        Between 0 and 1; the paper prints it in percent.

    Notes
    -----
    .. math:: \frac{1}{n} \sum_i w_i \, 1[\arg\max_j p_{ij} \ne y_i]

    with probabilities :math:`p_{ij}`, labels :math:`y_i`, weights :math:`w_i` and
    :math:`n = \sum_i w_i`: one minus the accuracy.

    **When not to use it.** It says nothing about the probabilities: temperature scaling never
    changes it.

    Examples
    --------
    >>> from dircal.metrics import error_rate
    >>> error_rate(["cat", "dog", "dog"], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    0.3333333333333333
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions).value(predictions)


def _quantity(predictions: Predictions) -> RowMean:
    del predictions
    return RowMean(_misses)


def _misses(block: Block) -> npt.NDArray[Any]:
    return ~block.hits if block.hits.dtype == bool else 1.0 - block.hits


publish(
    Measure(
        error_rate,
        _quantity,
        title="Error rate",
        judges="share of rows whose most probable class is not the true one",
        interval=IntervalRule.BCA,
        place=20,
        # One minus the accuracy: a table that has both says it twice.
        shown_in=Table.EVALUATION,
    )
)
