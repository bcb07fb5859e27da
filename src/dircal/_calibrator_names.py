"""Short names of the calibrators, as the command line and comparisons take them.

The classes are named as text, so that whoever lists the names need not load them.
"""

__all__ = ["CALIBRATOR_NAMES"]

CALIBRATOR_NAMES = {
    "auto": "AutoCalibrator",
    "bayesian": "BayesianDirichletCalibrator",
    "beta": "BetaCalibrator",
    "dirichlet": "DirichletCalibrator",
    "histogram": "HistogramCalibrator",
    "identity": "IdentityCalibrator",
    "isotonic": "IsotonicCalibrator",
    "matrix": "MatrixScaling",
    "platt": "PlattCalibrator",
    "temperature": "TemperatureScaling",
    "vector": "VectorScaling",
}
