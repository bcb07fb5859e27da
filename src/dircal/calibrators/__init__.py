"""Calibrators: scikit-learn estimators that map scores to calibrated probabilities."""

from dircal.calibrators._base import AbstractCalibrator as AbstractCalibrator
from dircal.calibrators._base import Fitted as Fitted
from dircal.calibrators._base import FitWarning as FitWarning
from dircal.calibrators._base import reader_of as reader_of
from dircal.calibrators._bayesian_dirichlet import BayesianDirichletCalibrator
from dircal.calibrators._beta import BetaCalibrator
from dircal.calibrators._binary import AbstractBinaryCalibrator as AbstractBinaryCalibrator
from dircal.calibrators._dirichlet import DirichletCalibrator
from dircal.calibrators._histogram import HistogramCalibrator
from dircal.calibrators._identity import IdentityCalibrator
from dircal.calibrators._isotonic import IsotonicCalibrator
from dircal.calibrators._matrix import MatrixScaling
from dircal.calibrators._platt import PlattCalibrator
from dircal.calibrators._temperature import TemperatureScaling
from dircal.calibrators._vector import VectorScaling

__all__ = [
    "BayesianDirichletCalibrator",
    "BetaCalibrator",
    "DirichletCalibrator",
    "HistogramCalibrator",
    "IdentityCalibrator",
    "IsotonicCalibrator",
    "MatrixScaling",
    "PlattCalibrator",
    "TemperatureScaling",
    "VectorScaling",
]
