"""Measures of probabilities: (y_true, y_prob) in, one number out."""

from dircal._core.stats.bins import BinTable
from dircal.metrics._accuracy import accuracy
from dircal.metrics._bins_base import class_bins, confidence_bins, confidence_bins_from_confidence
from dircal.metrics._brier_score import brier_score
from dircal.metrics._class_ece import class_ece
from dircal.metrics._classwise_ece import classwise_ece
from dircal.metrics._confidence_ece import confidence_ece, confidence_ece_from_confidence
from dircal.metrics._corp_reliability import CorpReliability, corp_reliability
from dircal.metrics._debiased_squared_error import debiased_squared_error
from dircal.metrics._error_rate import error_rate
from dircal.metrics._log_loss import log_loss
from dircal.metrics._loss_decomposition import LossDecomposition, loss_decomposition
from dircal.metrics._maximum_calibration_error import (
    maximum_calibration_error,
    maximum_calibration_error_from_confidence,
)
from dircal.metrics._smooth_ece import smooth_ece

__all__ = [
    "BinTable",
    "CorpReliability",
    "LossDecomposition",
    "accuracy",
    "brier_score",
    "class_bins",
    "class_ece",
    "classwise_ece",
    "confidence_bins",
    "confidence_bins_from_confidence",
    "confidence_ece",
    "confidence_ece_from_confidence",
    "corp_reliability",
    "debiased_squared_error",
    "error_rate",
    "log_loss",
    "loss_decomposition",
    "maximum_calibration_error",
    "maximum_calibration_error_from_confidence",
    "smooth_ece",
]
