"""Pictures: Displays that compute first and draw second. Drawing needs the extra ``plots``."""

from dircal.plots._before_after import BeforeAfterDisplay
from dircal.plots._calibration_map import CalibrationMapDisplay
from dircal.plots._classwise_reliability import ClasswiseReliabilityDisplay
from dircal.plots._confusion_change import ConfusionChangeDisplay
from dircal.plots._hyperparameter import HyperparameterDisplay
from dircal.plots._null_distribution import TestDisplay
from dircal.plots._parameter_matrix import ParametersDisplay
from dircal.plots._passed import PassedDisplay
from dircal.plots._rank import RankDisplay
from dircal.plots._reliability import ReliabilityDisplay
from dircal.plots._score_box import ScoreBoxDisplay
from dircal.plots._style_base import house_style

__all__ = [
    "BeforeAfterDisplay",
    "CalibrationMapDisplay",
    "ClasswiseReliabilityDisplay",
    "ConfusionChangeDisplay",
    "HyperparameterDisplay",
    "ParametersDisplay",
    "PassedDisplay",
    "RankDisplay",
    "ReliabilityDisplay",
    "ScoreBoxDisplay",
    "TestDisplay",
    "house_style",
]
