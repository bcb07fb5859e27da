"""The logarithmic loss."""

from collections.abc import Iterable
from typing import Any

from dircal._core.data.losses import log_losses
from dircal._typing import ArrayLike, FloatArray
from dircal.metrics._blocks import Block
from dircal.metrics._measure import IntervalRule, Measure, Table, publish
from dircal.metrics._predictions import Predictions
from dircal.metrics._quantities import RowMean

__all__ = ["log_loss"]


def log_loss(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
) -> float:
    r"""Mean negative logarithm of the probability of the true class; lower is better.

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
        Zero if the true class always had probability one, :math:`\ln k` for uniform
        probabilities, at most 34.5.

    Notes
    -----
    .. math:: -\frac{1}{n} \sum_i w_i \ln \max(p_{i y_i}, 10^{-15})

    with the probability :math:`p_{i y_i}` of the true class of row i, weights :math:`w_i` and
    :math:`n = \sum_i w_i`. It is a proper loss: the true probabilities have the smallest
    expected value. It measures calibration and sharpness together, and it is what every
    calibrator here minimises. The floor is that of the paper; scikit-learn's changes with the
    type of the array (2.2e-16, or 1.2e-7 in single precision).

    Of soft labels :math:`t_{ij}` it is the mean of :math:`-\sum_j t_{ij} \ln p_{ij}`, which is at
    least their entropy.

    **When not to use it.** With many exact zeros on true classes its value is mostly the floor:
    read the Brier score beside it.

    Examples
    --------
    >>> from dircal.metrics import log_loss
    >>> round(log_loss([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.4149
    """
    predictions = Predictions.check(y_true, y_prob, sample_weight, classes)
    return _quantity(predictions).value(predictions)


def _quantity(predictions: Predictions) -> RowMean:
    del predictions
    return RowMean(_losses)


def _losses(block: Block) -> FloatArray:
    return log_losses(block.proba, block.label_or_mode, block.targets)


publish(
    Measure(
        log_loss,
        _quantity,
        title="Log-loss",
        judges="judges the probabilities as a whole",
        interval=IntervalRule.BCA,
        place=30,
        shown_in=Table.EVERYWHERE,
        heading="log-\nloss",
    )
)
