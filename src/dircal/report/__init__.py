"""One page about a model and its calibration. Writing it as HTML needs the extra ``report``."""

from dircal.report._pdf import find_browser as find_browser
from dircal.report._report import Report

__all__ = ["Report"]
