"""Pictures: Displays that compute first and draw second. Drawing needs the extra ``plots``.

Names that are imported but not in ``__all__`` are for the report, which draws by itself.
"""

from dircal.plots._base import plain as plain
from dircal.plots._before_after import BeforeAfterDisplay
from dircal.plots._calibration_map import CalibrationMapDisplay
from dircal.plots._calibration_test import CalibrationTestDisplay
from dircal.plots._classwise_reliability import ClasswiseReliabilityDisplay
from dircal.plots._confusion_change import ConfusionChangeDisplay
from dircal.plots._cost_coverage import CostCoverageDisplay
from dircal.plots._curve import CurveDisplay
from dircal.plots._fitted_maps import canonical_of as canonical_of
from dircal.plots._hyperparameter import HyperparameterDisplay
from dircal.plots._monitor import MonitorDisplay
from dircal.plots._names import names_of as names_of
from dircal.plots._parameters import ParametersDisplay
from dircal.plots._pass_rate import PassRateDisplay
from dircal.plots._rank import RankDisplay
from dircal.plots._reliability import ReliabilityDisplay
from dircal.plots._reliability_curves import BarShapes as BarShapes
from dircal.plots._reliability_curves import Curve as Curve
from dircal.plots._reliability_curves import confidence_curve as confidence_curve
from dircal.plots._reliability_curves import curves_of_classes as curves_of_classes
from dircal.plots._score_box import ScoreBoxDisplay
from dircal.plots._shift import ShiftDisplay
from dircal.plots._style import house_style

__all__ = [
    "BeforeAfterDisplay",
    "CalibrationMapDisplay",
    "CalibrationTestDisplay",
    "ClasswiseReliabilityDisplay",
    "ConfusionChangeDisplay",
    "CostCoverageDisplay",
    "CurveDisplay",
    "HyperparameterDisplay",
    "MonitorDisplay",
    "ParametersDisplay",
    "PassRateDisplay",
    "RankDisplay",
    "ReliabilityDisplay",
    "ScoreBoxDisplay",
    "ShiftDisplay",
    "house_style",
]
