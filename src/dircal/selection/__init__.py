"""Estimators that hold calibrators: searching, combining, calibrating a classifier."""

from dircal.selection._calibrated_classifier import CalibratedClassifier
from dircal.selection._calibrator_cv import CalibratorCV

__all__ = ["CalibratedClassifier", "CalibratorCV"]
