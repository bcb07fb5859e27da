"""One page about a model and its calibration. Writing it as HTML needs the extra ``report``."""

from dircal.report._pdf import find_browser as find_browser
from dircal.report._report import Report
from dircal.report._summarise import summarise as summarise
from dircal.report._task import REPORTING as REPORTING
from dircal.report._task import Request as Request

__all__ = ["Report"]
