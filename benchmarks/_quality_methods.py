"""Who takes part in the comparison: ours, and others where they are installed."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import _SigmoidCalibration, _TemperatureScaling
from sklearn.isotonic import IsotonicRegression

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
    VectorScaling,
)

__all__ = [
    "AUTO",
    "BAYES",
    "CANDIDATES",
    "DIRICHLET",
    "GRID",
    "METHODS",
    "OUR_SMS",
    "SMS",
    "TEMPERATURE",
    "UNCALIBRATED",
    "applies",
]

FloatArray = npt.NDArray[np.float64]
LabelArray = npt.NDArray[np.int64]

UNCALIBRATED, BAYES, AUTO = "uncalibrated", "Bayesian Dirichlet", "Auto"
OUR_SMS, SMS, GRID = "Bayesian, fixed", "probmetrics SMS", "Dirichlet ODIR, grid"
TEMPERATURE, VECTOR, DIRICHLET = "temperature", "vector", "Dirichlet ODIR"
BAYES_LINEAR = "Bayesian, no curves"
CANDIDATES = (UNCALIBRATED, TEMPERATURE, VECTOR, BAYES_LINEAR, BAYES)
"""Single maps of the kinds that `AutoCalibrator` averages."""
# 2160 fits: beyond these sizes they take minutes.
_GRID_CLASSES = 10
_GRID_ROWS = {"UCI": 600, "networks": 5000}
# Fits without a prior of 1000 classes take minutes and come to nothing.
_UNPENALISED_CLASSES = 200
_UNPENALISED = (
    "Dirichlet L2",
    "one-vs-rest beta",
    "one-vs-rest isotonic",
    "scikit-learn isotonic",
    "scikit-learn sigmoid",
)

# The floor of the authors of SMS.
_SINGLE_ZERO = float(np.finfo(np.float32).tiny)


class _OneVsRest:
    """A curve of scikit-learn for each class against the rest, normalised."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def fit(self, proba: FloatArray, labels: LabelArray) -> "_OneVsRest":
        """One curve for each column."""
        self.curves = [self.make().fit(column, labels == j) for j, column in enumerate(proba.T)]
        return self

    def predict_proba(self, proba: FloatArray) -> FloatArray:
        """Equal probabilities where every curve says zero, as scikit-learn has it."""
        columns = zip(self.curves, proba.T, strict=True)
        out = np.column_stack([curve.predict(column) for curve, column in columns])
        out[out.sum(axis=1) == 0.0] = 1.0
        result: FloatArray = out / out.sum(axis=1, keepdims=True)
        return result


class _Temperature:
    """The class behind scikit-learn's temperature scaling, on log-probabilities."""

    def fit(self, proba: FloatArray, labels: LabelArray) -> "_Temperature":
        """Zeros become the smallest number there is."""
        self.inner = _TemperatureScaling().fit(_log(proba), labels)
        return self

    def predict_proba(self, proba: FloatArray) -> FloatArray:
        """Tempered probabilities."""
        result: FloatArray = self.inner.predict(_log(proba))
        return result


def _log(proba: FloatArray) -> FloatArray:
    result: FloatArray = np.log(np.maximum(proba, np.finfo(np.float64).tiny))
    return result


def _probmetrics(name: str) -> Callable[[int], Any]:
    def make(n_classes: int) -> Any:
        del n_classes
        module = import_module("probmetrics.calibrators")
        return module.get_calibrator(name)

    return make


def _netcal(n_classes: int) -> Any:
    del n_classes
    scaling = import_module("netcal.scaling").TemperatureScaling()

    class Wrapped:
        def fit(self, proba: FloatArray, labels: LabelArray) -> "Wrapped":
            scaling.fit(proba, labels)
            return self

        def predict_proba(self, proba: FloatArray) -> FloatArray:
            out: FloatArray = np.asarray(scaling.transform(proba)).reshape(len(proba), -1)
            return out if out.shape[1] > 1 else np.column_stack([1.0 - out, out])

    return Wrapped()


METHODS: dict[str, Callable[[int], Any]] = {
    UNCALIBRATED: lambda k: IdentityCalibrator(classes=range(k)),
    TEMPERATURE: lambda k: TemperatureScaling(classes=range(k)),
    VECTOR: lambda k: VectorScaling(classes=range(k)),
    DIRICHLET: lambda k: DirichletCalibrator(classes=range(k)),
    "Dirichlet L2": lambda k: DirichletCalibrator(penalty="l2", classes=range(k)),
    GRID: lambda k: CalibratorCV(DirichletCalibrator(classes=range(k)), "paper_neural"),
    "one-vs-rest beta": lambda k: OneVsRestCalibrator(BetaCalibrator(), classes=range(k)),
    "one-vs-rest isotonic": lambda k: OneVsRestCalibrator(IsotonicCalibrator(), classes=range(k)),
    OUR_SMS: lambda k: BayesianDirichletCalibrator(
        prior="fixed", classes=range(k), clip=_SINGLE_ZERO
    ),
    BAYES_LINEAR: lambda k: BayesianDirichletCalibrator(curves="none", classes=range(k)),
    BAYES: lambda k: BayesianDirichletCalibrator(classes=range(k)),
    AUTO: lambda k: AutoCalibrator(classes=range(k)),
    "scikit-learn sigmoid": lambda k: _OneVsRest(_SigmoidCalibration),
    "scikit-learn isotonic": lambda k: _OneVsRest(lambda: IsotonicRegression(out_of_bounds="clip")),
    "scikit-learn temperature": lambda k: _Temperature(),
}
"""By name, how to make one for so many classes."""
if find_spec("probmetrics") is not None:
    METHODS[SMS] = _probmetrics("sms")
    METHODS["probmetrics SVS"] = _probmetrics("svs")
    METHODS["probmetrics temperature"] = _probmetrics("ts-mix")
if find_spec("netcal") is not None:
    METHODS["netcal temperature"] = _netcal


def applies(method: str, kind: str, n_rows: int, n_classes: int, draw: int) -> bool:
    """Whether a method takes part in a task of this size; some would take minutes.

    Learning curves are of methods that somebody would use with few rows.
    """
    if method == GRID:
        return draw == 0 and n_classes <= _GRID_CLASSES and n_rows <= _GRID_ROWS.get(kind, 0)
    if method in _UNPENALISED or method == OUR_SMS:
        return draw == 0 and n_classes <= _UNPENALISED_CLASSES
    return method != VECTOR or n_classes <= _UNPENALISED_CLASSES
