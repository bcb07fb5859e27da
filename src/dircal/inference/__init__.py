"""How sure we may be: tests and comparisons for any measure."""

from dircal.inference._calibration_test import (
    CalibrationTest,
    calibration_test,
    calibration_test_from_confidence,
)
from dircal.inference._ranking import (
    FriedmanTest,
    average_ranks,
    critical_difference,
    friedman,
    rank_groups,
)

__all__ = [
    "CalibrationTest",
    "FriedmanTest",
    "average_ranks",
    "calibration_test",
    "calibration_test_from_confidence",
    "critical_difference",
    "friedman",
    "rank_groups",
]
