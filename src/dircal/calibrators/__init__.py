"""Calibrators: scikit-learn estimators that map scores to calibrated probabilities."""

from dircal.calibrators._base import AbstractCalibrator as AbstractCalibrator
from dircal.calibrators._base import fit_arrays as fit_arrays
from dircal.calibrators._base import fit_rows as fit_rows
from dircal.calibrators._base import fitted_copy as fitted_copy
from dircal.calibrators._base import with_fit as with_fit
from dircal.calibrators._bayesian_dirichlet import BayesianDirichletCalibrator
from dircal.calibrators._bayesian_dirichlet import (
    BayesianDirichletMethod as BayesianDirichletMethod,
)
from dircal.calibrators._beta import BetaCalibrator
from dircal.calibrators._binary import AbstractBinaryCalibrator as AbstractBinaryCalibrator
from dircal.calibrators._dirichlet import DirichletCalibrator
from dircal.calibrators._external import ExternalCalibrator as ExternalCalibrator
from dircal.calibrators._external import is_external as is_external
from dircal.calibrators._fit import AbstractMethod as AbstractMethod
from dircal.calibrators._fit import AbstractScoreMethod as AbstractScoreMethod
from dircal.calibrators._fit import Fit as Fit
from dircal.calibrators._fit import FitColumns as FitColumns
from dircal.calibrators._fit import Notice as Notice
from dircal.calibrators._fit import reader_of as reader_of
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
