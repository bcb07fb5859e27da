"""Estimators that hold calibrators: searching, combining, calibrating a classifier."""

from dircal.selection._auto_calibrator import AutoCalibrator
from dircal.selection._calibrated_classifier import CalibratedClassifier
from dircal.selection._calibrator_cv import CalibratorCV
from dircal.selection._one_vs_rest import OneVsRestCalibrator

__all__ = ["AutoCalibrator", "CalibratedClassifier", "CalibratorCV", "OneVsRestCalibrator"]
