"""After the shift: adapt, recalibrate, reveal, watch, groups."""

from dircal.shift._alarm import Alarm as Alarm
from dircal.shift._calibration_monitor import CalibrationMonitor
from dircal.shift._findings import Finding as Finding
from dircal.shift._findings import LabelledProba as LabelledProba
from dircal.shift._grouped_calibrator import GroupedCalibrator
from dircal.shift._label_shift import LabelShift as LabelShift
from dircal.shift._prior_shift import PriorShift
from dircal.shift._prior_shift import prior_shift_map as prior_shift_map
from dircal.shift._recalibrate import recalibrate
from dircal.shift._recalibrated import RecalibratedCalibrator
from dircal.shift._recalibrated import recalibrated_map as recalibrated_map
from dircal.shift._shift_report import ShiftReport as ShiftReport
from dircal.shift._shift_report import compare_rows as compare_rows
from dircal.shift._shift_report import shift_report
from dircal.shift._trace_text import show_trace as show_trace

__all__ = [
    "CalibrationMonitor",
    "GroupedCalibrator",
    "PriorShift",
    "RecalibratedCalibrator",
    "recalibrate",
    "shift_report",
]
