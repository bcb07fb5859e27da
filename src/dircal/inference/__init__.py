"""How sure we may be: tests and comparisons for any measure."""

from dircal.inference._calibration_test import (
    CalibrationTest,
    calibration_test,
    calibration_test_from_confidence,
)
from dircal.inference._compare import compare
from dircal.inference._comparison_base import Comparison, ComparisonRow
from dircal.inference._confidence_interval import ConfidenceInterval, confidence_interval
from dircal.inference._equivalence_test import EquivalenceTest, equivalence_test
from dircal.inference._paired_comparison import PairedComparison, paired_comparison
from dircal.inference._ranking import (
    FriedmanTest,
    average_ranks,
    critical_difference,
    friedman,
    rank_groups,
)
from dircal.inference._score_test import ScoreTest, score_test

__all__ = [
    "CalibrationTest",
    "Comparison",
    "ComparisonRow",
    "ConfidenceInterval",
    "EquivalenceTest",
    "FriedmanTest",
    "PairedComparison",
    "ScoreTest",
    "average_ranks",
    "calibration_test",
    "calibration_test_from_confidence",
    "compare",
    "confidence_interval",
    "critical_difference",
    "equivalence_test",
    "friedman",
    "paired_comparison",
    "rank_groups",
    "score_test",
]
