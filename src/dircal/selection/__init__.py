"""Selection: estimators that take calibrators."""

from dircal.selection._one_vs_rest import OneVsRestCalibrator

__all__ = ["OneVsRestCalibrator"]
