"""How many rows the annotators of a row are worth."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dircal._typing import ArrayLike, FloatArray, InputScale
from dircal.selection import AutoCalibrator
from dircal.tables import FITTING, ArrayRows, check_fit_arrays

__all__ = ["annotators_worth", "effective_annotators"]

_ARGUMENTS = replace(FITTING, labels="counts")


def effective_annotators(
    X: ArrayLike,
    counts: ArrayLike,
    *,
    input_scale: InputScale = "probability",
    classes: Iterable[Any] | None = None,
) -> FloatArray:
    r"""Weight of rows with several annotators, who share what is peculiar to their row.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_classes)
        Scores that a calibrator is to be fitted on.
    counts : array of shape (n_samples, n_classes)
        How many annotators chose each class, with a column for each column of `X`.
    input_scale : {"probability", "logit"}, default="probability"
        What `X` holds.
    classes : sequence, optional
        Label of each column of `X`.

    Returns
    -------
    array of shape (n_samples,)
        Between one and the number of annotators; zero where a row has none. Pass it as
        ``sample_weight``, with probabilities ``counts / counts.sum(axis=1, keepdims=True)``.

    Notes
    -----
    Rows of text or images are ambiguous each in its own way, which no map of the scores can know.
    Annotators of a row therefore agree more with each other than with what is predicted, and m of
    them tell less than m rows with one annotator each. With the intraclass correlation
    :math:`\rho` of their deviations from the predictions, m annotators are worth

    .. math:: \frac{m}{1 + (m - 1) \rho}

    rows: the design effect of samples in clusters [1]_. Here

    .. math:: \rho = \frac{\sum_i \frac{1}{m_i (m_i - 1)} \sum_{a \ne b} (e_{ia} - q_i)^\top
              (e_{ib} - q_i)}{\sum_i \frac{1}{m_i} \sum_a |e_{ia} - q_i|^2}

    over the rows i with two annotators or more, whose labels are the one-hot :math:`e_{ia}`, and
    the probabilities :math:`q_i` of an `AutoCalibrator` that is fitted on the soft labels with one
    as the weight of each row. A correlation below zero counts as zero.

    **When not to use it.** For penalised and Bayesian maps the weights decide how much is learned;
    to maps with a handful of parameters and no prior, such as temperature scaling, equal weights
    mean nothing: they fit the same with any. With one annotator for each row there is nothing to
    estimate.

    References
    ----------
    .. [1] Kish (1965). Survey Sampling. Wiley.

    Examples
    --------
    Ten annotators a row; the share that chooses the first class differs from row to row by more
    than the scores know:

    >>> import numpy as np
    >>> from dircal import AutoCalibrator, effective_annotators
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.2, 0.8, size=2000)
    >>> own = rng.beta(4 * p, 4 * (1 - p))
    >>> first = rng.binomial(10, own)
    >>> X, counts = np.column_stack([p, 1 - p]), np.column_stack([first, 10 - first])
    >>> weight = effective_annotators(X, counts)
    >>> round(float(weight[0]), 1)  # the correlation is 1 / (4 + 1)
    3.6
    >>> shares = counts / counts.sum(axis=1, keepdims=True)
    >>> calibrator = AutoCalibrator().fit(X, shares, sample_weight=weight)
    """
    data = check_fit_arrays(
        X,
        counts,
        None,
        classes=classes,
        input_scale=input_scale,
        arguments=_ARGUMENTS,
        counts=True,
    )
    return annotators_worth(data, input_scale)


def annotators_worth(data: ArrayRows, input_scale: InputScale) -> FloatArray:
    """Return the number of rows that the annotators of each row are worth, their weights."""
    n_annotators = _annotators_of(data)
    used = np.flatnonzero(n_annotators)
    correlation = _intraclass_correlation(data.take(used), input_scale)
    weight = np.zeros(len(n_annotators))
    weight[used] = n_annotators[used] / (1.0 + (n_annotators[used] - 1.0) * correlation)
    return weight


def _annotators_of(data: ArrayRows) -> FloatArray:
    if data.sample_weight is None:
        return np.ones(len(data.labels))
    m = data.sample_weight
    whole = (m == np.floor(m)).all()
    if not whole:
        i = int((m != np.floor(m)).argmax())
        raise ValueError(
            f"`counts` must hold numbers of annotators; row {i} sums to {m[i]:.6g}. Pass how many "
            "annotators chose each class."
        )
    return m


def _intraclass_correlation(data: ArrayRows, input_scale: InputScale) -> float:
    """Of the deviations of annotators from a map that is fitted on these rows."""
    k, m = len(data.classes), _annotators_of(data)
    targets = np.eye(k)[data.labels] if data.targets is None else data.targets
    even = replace(data, sample_weight=None)
    q = AutoCalibrator(input_scale=input_scale).method().fit(even).predict(even)
    several = m > 1.0
    if not several.any():
        return 0.0
    t, q, m = targets[several], q[several], m[several]
    own = ((t - q) ** 2).sum(axis=1)
    # Mean over the annotators of a row of |e - q|^2, with t the mean of e.
    each = 1.0 - 2.0 * (t * q).sum(axis=1) + (q**2).sum(axis=1)
    pairs = (m * own - each) / (m - 1.0)
    total = float(each.sum())
    return float(np.clip(pairs.sum() / total, 0.0, 1.0)) if total > 0.0 else 0.0
