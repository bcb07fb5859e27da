"""Estimators that hold calibrators: searching, combining, calibrating a classifier."""

from dircal.selection._auto_calibrator import AutoCalibrator
from dircal.selection._base import AbstractMetaCalibrator as AbstractMetaCalibrator
from dircal.selection._base import AbstractMetaMethod as AbstractMetaMethod
from dircal.selection._base import check_calibrator as check_calibrator
from dircal.selection._base import check_same_columns as check_same_columns
from dircal.selection._calibrated_classifier import CalibratedClassifier
from dircal.selection._calibrator_cv import CalibratorCV
from dircal.selection._cross_fit import check_multiclass as check_multiclass
from dircal.selection._cross_fit import cross_fit as cross_fit
from dircal.selection._cross_fit import scored_rows as scored_rows
from dircal.selection._one_vs_rest import OneVsRestCalibrator
from dircal.selection._one_vs_rest import one_vs_rest_map as one_vs_rest_map
from dircal.selection._splits import Split as Split
from dircal.selection._splits import check_cv as check_cv
from dircal.selection._splits import deal_within_classes as deal_within_classes
from dircal.selection._splits import make_splits as make_splits
from dircal.selection._splits import used_rows as used_rows

__all__ = ["AutoCalibrator", "CalibratedClassifier", "CalibratorCV", "OneVsRestCalibrator"]
