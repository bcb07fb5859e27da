"""The seven methods of the comparison, as the paper's code has them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal import (
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
)

__all__ = ["METHODS"]

Rows = npt.NDArray[np.intp]
Make = Callable[[Rows, tuple[Rows, Rows]], Any]
"""From the classes and one pair (rows to fit, rows to choose on) to a calibrator."""

# The paper's floor for probabilities before the logarithm.
_FLOOR = float(np.finfo(np.float64).tiny)


class _FitPart:
    """A calibrator without hyperparameters, fitted on the first of the two parts."""

    def __init__(self, calibrator: Any, rows: Rows) -> None:
        self.calibrator = calibrator
        self.rows = rows

    def fit(self, scores: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> Any:
        """Fit, and hand over to the calibrator itself."""
        return self.calibrator.fit(scores[self.rows], y[self.rows])


def _fixed(make: Callable[[Rows], Any]) -> Make:
    return lambda classes, pair: _FitPart(make(classes), pair[0])


def _binned(strategy: str) -> Make:
    """Numbers of bins are chosen for each class by itself."""

    def make(classes: Rows, pair: tuple[Rows, Rows]) -> Any:
        histogram = HistogramCalibrator(strategy=strategy, classes=classes)  # type: ignore[arg-type]
        return OneVsRestCalibrator(CalibratorCV(histogram, "paper_uci", cv=[pair]))

    return make


def _dirichlet(classes: Rows, pair: tuple[Rows, Rows]) -> Any:
    calibrator = DirichletCalibrator(penalty="l2_reference", classes=classes, clip=_FLOOR)
    return CalibratorCV(calibrator, "paper_uci", cv=[pair])


METHODS: dict[str, Make] = {
    "DirL2": _dirichlet,
    "Beta": _fixed(
        lambda classes: OneVsRestCalibrator(BetaCalibrator(classes=classes, clip=_FLOOR))
    ),
    "FreqB": _binned("frequency"),
    "Isot": _fixed(lambda classes: OneVsRestCalibrator(IsotonicCalibrator(classes=classes))),
    "WidB": _binned("width"),
    "TempS": _fixed(lambda classes: TemperatureScaling(classes=classes, clip=_FLOOR)),
    "Uncal": _fixed(lambda classes: IdentityCalibrator(classes=classes)),
}
