"""Correlation of the annotators of a row, and the rows that they are worth."""

from dataclasses import replace

import numpy as np

from dircal._typing import FloatArray, InputScale
from dircal.selection import AutoCalibrator
from dircal.tables import LabelledScores

__all__ = ["annotators_worth"]


def annotators_worth(data: LabelledScores, input_scale: InputScale) -> FloatArray:
    """Return the number of rows that the annotators of each row are worth, their weights."""
    n_annotators = _annotators_of(data)
    used = np.flatnonzero(n_annotators)
    correlation = _intraclass_correlation(data.take(used), input_scale)
    weight = np.zeros(len(n_annotators))
    weight[used] = n_annotators[used] / (1.0 + (n_annotators[used] - 1.0) * correlation)
    return weight


def _annotators_of(data: LabelledScores) -> FloatArray:
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


def _intraclass_correlation(data: LabelledScores, input_scale: InputScale) -> float:
    """Of the deviations of annotators from a map that is fitted on these rows."""
    k, m = len(data.classes), _annotators_of(data)
    targets = np.eye(k)[data.labels] if data.targets is None else data.targets
    even = replace(data, sample_weight=None)
    q = AutoCalibrator(input_scale=input_scale)._fit_checked(even)._predict_checked(even)
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
