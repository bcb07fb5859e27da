"""Measures of probabilities: (y_true, y_prob) in, one number out.

A measure is one file with its record, and one line here. Names that are imported but not in
``__all__`` are for the other rooms of the house.
"""

from dircal._core.stats.bins import BinTable
from dircal.metrics._accuracy import accuracy as accuracy
from dircal.metrics._binning import Binning as Binning
from dircal.metrics._binning import BinRule as BinRule
from dircal.metrics._binning import EqualWidth as EqualWidth
from dircal.metrics._binning import Strategy as Strategy
from dircal.metrics._binning import check_bins as check_bins
from dircal.metrics._blocks import Block as Block
from dircal.metrics._brier_score import brier_score as brier_score
from dircal.metrics._class_bins import class_bins
from dircal.metrics._class_ece import class_ece as class_ece
from dircal.metrics._classwise_ece import classwise_ece as classwise_ece
from dircal.metrics._confidence_bins import confidence_bins, confidence_bins_from_confidence
from dircal.metrics._confidence_ece import confidence_ece as confidence_ece
from dircal.metrics._confidence_ece import confidence_ece_from_confidence
from dircal.metrics._corp_reliability import CorpReliability, corp_reliability
from dircal.metrics._curves import ClassCurves as ClassCurves
from dircal.metrics._curves import ConfidenceCurve as ConfidenceCurve
from dircal.metrics._curves import Confident as Confident
from dircal.metrics._debiased_squared_error import debiased_squared_error as debiased_squared_error
from dircal.metrics._error_rate import error_rate as error_rate
from dircal.metrics._in_parts import predictions_in_folds as predictions_in_folds
from dircal.metrics._in_parts import predictions_in_parts as predictions_in_parts
from dircal.metrics._log_loss import log_loss as log_loss
from dircal.metrics._loss_decomposition import LossDecomposition, loss_decomposition
from dircal.metrics._maximum_calibration_error import (
    maximum_calibration_error as maximum_calibration_error,
)
from dircal.metrics._maximum_calibration_error import maximum_calibration_error_from_confidence
from dircal.metrics._measure import RECORDS as RECORDS
from dircal.metrics._measure import IntervalRule as IntervalRule
from dircal.metrics._measure import Measure as Measure
from dircal.metrics._measure import Table as Table
from dircal.metrics._measure import is_measure as is_measure
from dircal.metrics._measure import measures_in as measures_in
from dircal.metrics._predictions import Predictions as Predictions
from dircal.metrics._predictions import ReadProbabilities as ReadProbabilities
from dircal.metrics._quantities import AbstractQuantity as AbstractQuantity
from dircal.metrics._quantities import Called as Called
from dircal.metrics._quantities import GapSum as GapSum
from dircal.metrics._quantities import Summed as Summed
from dircal.metrics._quantities import values_of as values_of
from dircal.metrics._rows import AbstractRows as AbstractRows
from dircal.metrics._rows import ConfidenceRows as ConfidenceRows
from dircal.metrics._smooth_ece import smooth_ece as smooth_ece
from dircal.metrics._together import fold_together as fold_together

__all__ = [
    "BinTable",
    "CorpReliability",
    "LossDecomposition",
    "class_bins",
    "confidence_bins",
    "confidence_bins_from_confidence",
    "confidence_ece_from_confidence",
    "corp_reliability",
    "loss_decomposition",
    "maximum_calibration_error_from_confidence",
]
__all__ += sorted(RECORDS)
