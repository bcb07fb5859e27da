"""Calibrated probabilities for any multiclass classifier.

Fit a calibrator on scores and labels that the classifier was not trained on, then map new scores:

>>> from dircal import DirichletCalibrator
>>> calibrator = DirichletCalibrator(penalty="l2").fit(
...     [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]], ["no", "yes", "no", "yes"]
... )
>>> calibrator.predict_proba([[0.95, 0.05]]).shape
(1, 2)
"""

from dircal import export, metrics, plots
from dircal._version import __version__
from dircal.calibrators import (
    BayesianDirichletCalibrator,
    BetaCalibrator,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.explanation import Explanation
from dircal.inference import (
    CalibrationTest,
    Comparison,
    ComparisonRow,
    ConfidenceInterval,
    EquivalenceTest,
    FriedmanTest,
    PairedComparison,
    ScoreTest,
    average_ranks,
    calibration_test,
    calibration_test_from_confidence,
    compare,
    confidence_interval,
    critical_difference,
    equivalence_test,
    friedman,
    paired_comparison,
    rank_groups,
    score_test,
)
from dircal.parameters import (
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
)
from dircal.persistence import load, save
from dircal.report import Report
from dircal.selection import AutoCalibrator, CalibratedClassifier, CalibratorCV, OneVsRestCalibrator

__all__ = [
    "AutoCalibrator",
    "BayesianDirichletCalibrator",
    "BetaCalibrator",
    "CalibratedClassifier",
    "CalibrationTest",
    "CalibratorCV",
    "CanonicalParameters",
    "Comparison",
    "ComparisonRow",
    "ConfidenceInterval",
    "DirichletCalibrator",
    "EquivalenceTest",
    "Explanation",
    "FriedmanTest",
    "GenerativeParameters",
    "HistogramCalibrator",
    "IdentityCalibrator",
    "InterpretationPoints",
    "IsotonicCalibrator",
    "LinearParameters",
    "MatrixScaling",
    "OneVsRestCalibrator",
    "PairedComparison",
    "PlattCalibrator",
    "Report",
    "ScoreTest",
    "TemperatureScaling",
    "VectorScaling",
    "__version__",
    "average_ranks",
    "calibration_test",
    "calibration_test_from_confidence",
    "compare",
    "confidence_interval",
    "critical_difference",
    "equivalence_test",
    "export",
    "friedman",
    "load",
    "metrics",
    "paired_comparison",
    "plots",
    "rank_groups",
    "save",
    "score_test",
]
