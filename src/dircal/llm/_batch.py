"""Batch calibration: probabilities divided by what a prompt prefers, as numbers and as steps."""

from typing import Any

import numpy as np
from scipy.special import softmax

from dircal._core.bayes.models import joint_log_evidence
from dircal._typing import FloatArray, InputScale
from dircal.maps import AbstractStep, Diagonal, LogProbability, LogSoftmax, Softmax
from dircal.selection import AutoCalibrator

__all__ = ["as_proba", "balanced", "first_steps", "log_evidence"]


def log_evidence(auto: AutoCalibrator) -> float:
    """Logarithm of the probability of the labels, averaged over all maps."""
    table = auto.table_
    scores = joint_log_evidence(table["calibrator"], table["log_evidence"])
    return float(np.logaddexp.reduce(scores))


def first_steps(input_scale: InputScale, by: FloatArray) -> tuple[AbstractStep, ...]:
    """From scores to probabilities divided by means; nothing where there is nothing to do."""
    logarithm = LogSoftmax() if input_scale == "logit" else LogProbability()
    if input_scale == "probability" and (by == 1.0).all():
        return ()
    return (logarithm, Diagonal(np.ones(len(by)), -np.log(by)), Softmax())


def balanced(proba: FloatArray, by: FloatArray) -> FloatArray:
    """Probabilities divided by means, of all rows or of each."""
    divided: FloatArray = proba / by
    divided /= divided.sum(axis=1, keepdims=True)
    return divided


def as_proba(inputs: Any, input_scale: InputScale) -> FloatArray:
    """Scores as probabilities whose rows sum to one."""
    wide = np.asarray(inputs, dtype=np.float64)
    if input_scale == "logit":
        logits: FloatArray = softmax(wide, axis=1)
        return logits
    result: FloatArray = wide / wide.sum(axis=1, keepdims=True)
    return result
