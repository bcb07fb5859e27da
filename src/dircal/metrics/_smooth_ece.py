"""The calibration error without bins."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dircal._core.stats.smoothing import smooth_error
from dircal._typing import ArrayLike
from dircal.metrics._base import read_predictions
from dircal.metrics._bins_base import Over, curves_over
from dircal.metrics._grid_base import residuals_on_grid

__all__ = ["smooth_ece"]


def smooth_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Iterable[Any] | None = None,
    over: Over = "confidence",
    label: Any = None,
) -> float:
    r"""Calibration error of smoothed residuals, which needs no bins; lower is better.

    Parameters
    ----------
    y_true : array-like (n,)
        True labels.
    y_prob : array-like (n, k)
        Probability of each class.
    sample_weight : array-like (n,), optional
        Weight of each row; a weight of two counts like two rows.
    classes : array-like (k,), optional
        Label of each column of ``y_prob``, where ``y_true`` does not hold them all or the columns
        are in another order than the sorted one.
    over : {"confidence", "classes"}, default="confidence"
        The largest probability of each row, or the probability of each class, averaged over the
        classes.
    label : object, optional
        With ``over="classes"``, the one class to look at.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    With the probability :math:`p_i`, and :math:`o_i` one where it happened and zero elsewhere,

    .. math:: \mathrm{smECE}_\sigma = \int_0^1 \Bigl| \frac1n \sum_i w_i (o_i - p_i)
              K_\sigma(p_i, t) \Bigr| \, dt

    where :math:`K_\sigma` is the Gaussian density of standard deviation :math:`\sigma` around
    :math:`p_i`, reflected at 0 and 1, :math:`w_i` are the weights and :math:`n` is their sum. The
    measure is the :math:`\sigma` for which :math:`\mathrm{smECE}_\sigma = \sigma`; there is
    exactly one [1]_. The integral runs over a grid of 8192 steps; values between two points are
    shared by both.

    *What it estimates.* A distance from calibration that small changes of the probabilities change
    little: it lies within constant factors of the smallest change that would make the predictions
    calibrated. No edge of a bin decides anything.

    *Bias.* Upwards, as that of `confidence_ece`: chance does not cancel completely. It is smaller
    than with 15 bins where the error is large, since then the bandwidth is.

    **When not to use it.** Where numbers have to be compared with published ECEs: it is another
    quantity, and smaller where errors change sign within a bandwidth. Where predictions take a few
    values only, bins at these values say more. It is no test of calibration.

    References
    ----------
    .. [1] Błasiok and Nakkiran (2024). Smooth ECE: principled reliability diagrams via kernel
       smoothing. ICLR.

    Examples
    --------
    >>> from dircal.metrics import smooth_ece
    >>> round(smooth_ece([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), 4)
    0.1661
    """
    curves = curves_over(read_predictions(y_true, y_prob, sample_weight, classes), over, label)
    return float(np.mean([smooth_error(grid) for grid in residuals_on_grid(curves())]))
