"""How sure we may be: tests and comparisons for any measure.

Names that are imported but not in ``__all__`` are for the other rooms of the house.
"""

from dircal.inference._calibration_test import (
    CalibrationTest,
    calibration_test,
    calibration_test_from_confidence,
)
from dircal.inference._calibration_test import Statistic as Statistic
from dircal.inference._calibration_test import both_tests_of as both_tests_of
from dircal.inference._calibrators import UNCALIBRATED as UNCALIBRATED
from dircal.inference._calibrators import agree_on_classes as agree_on_classes
from dircal.inference._calibrators import check_calibrators as check_calibrators
from dircal.inference._chosen_measure import ChosenMeasure as ChosenMeasure
from dircal.inference._chosen_measure import check_drawing as check_drawing
from dircal.inference._chosen_measure import default_measures as default_measures
from dircal.inference._chosen_measure import measure_all as measure_all
from dircal.inference._compare import check_measures as check_measures
from dircal.inference._compare import compare
from dircal.inference._compare import compare_on_split as compare_on_split
from dircal.inference._compare import tabulate_measures as tabulate_measures
from dircal.inference._comparison import WITHOUT_BIAS as WITHOUT_BIAS
from dircal.inference._comparison import Comparison, ComparisonRow
from dircal.inference._comparison import columns_of as columns_of
from dircal.inference._comparison import show_corrected as show_corrected
from dircal.inference._confidence_interval import ConfidenceInterval, confidence_interval
from dircal.inference._drawn_sums import Source as Source
from dircal.inference._effective_annotators import effective_annotators
from dircal.inference._equivalence_test import EquivalenceTest, equivalence_test
from dircal.inference._evaluate import Evaluation, evaluate
from dircal.inference._evaluate import Findings as Findings
from dircal.inference._evaluate import find_all as find_all
from dircal.inference._evaluation_split import AbstractEvaluationSplit as AbstractEvaluationSplit
from dircal.inference._evaluation_split import ArraySplit as ArraySplit
from dircal.inference._evaluation_split import CrossFitted as CrossFitted
from dircal.inference._evaluation_split import PartitionedSplit as PartitionedSplit
from dircal.inference._evaluation_split import make_evaluation_split as make_evaluation_split
from dircal.inference._paired_comparison import PairedComparison, paired_comparison
from dircal.inference._ranking import (
    FriedmanTest,
    average_ranks,
    critical_difference,
    friedman,
    rank_groups,
)
from dircal.inference._score_test import ScoreTest, score_test
from dircal.inference._score_test import score_test_of as score_test_of
from dircal.inference._show import tell_sources as tell_sources
from dircal.inference._table_fit import TableFit as TableFit
from dircal.inference._table_fit import fit_table as fit_table

__all__ = [
    "CalibrationTest",
    "Comparison",
    "ComparisonRow",
    "ConfidenceInterval",
    "EquivalenceTest",
    "Evaluation",
    "FriedmanTest",
    "PairedComparison",
    "ScoreTest",
    "average_ranks",
    "calibration_test",
    "calibration_test_from_confidence",
    "compare",
    "confidence_interval",
    "critical_difference",
    "effective_annotators",
    "equivalence_test",
    "evaluate",
    "friedman",
    "paired_comparison",
    "rank_groups",
    "score_test",
]
