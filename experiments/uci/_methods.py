"""The paper's seven methods as its code has them, one of its mistakes, and two methods of ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    TemperatureScaling,
)

__all__ = ["LEGACY", "METHODS", "OURS", "PAPER_METHODS"]

FloatArray = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

# The paper's floor for probabilities before the logarithm.
_FLOOR = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Part:
    """Scores of one classifier and the true labels."""

    scores: FloatArray
    y: Labels


@dataclass(frozen=True)
class Given:
    """What a method may learn from: rows to fit on, and rows to choose hyperparameters on."""

    classes: Labels
    fit: Part
    choose: Part


@dataclass(frozen=True)
class Fitted:
    """A fitted calibrator, and what was chosen in text."""

    calibrator: Any
    chosen: str = ""


Method = Callable[[Given], Fitted]


def _plain(make: Callable[[Labels], Any]) -> Method:
    """A calibrator without hyperparameters."""
    return lambda given: Fitted(make(given.classes).fit(given.fit.scores, given.fit.y))


def _search(given: Given, calibrator: Any) -> Any:
    """The paper's grid, with the rows of the two parts one after the other."""
    n_fit = len(given.fit.y)
    pair = (np.arange(n_fit), np.arange(n_fit, n_fit + len(given.choose.y)))
    return CalibratorCV(calibrator, "paper_uci", cv=[pair])


def _fit_search(given: Given, search: Any) -> Any:
    scores = np.concatenate([given.fit.scores, given.choose.scores])
    return search.fit(scores, np.concatenate([given.fit.y, given.choose.y]))


def _dirichlet(given: Given) -> Fitted:
    calibrator = DirichletCalibrator(penalty="l2_reference", classes=given.classes, clip=_FLOOR)
    search = _fit_search(given, _search(given, calibrator))
    return Fitted(search, f"{search.best_params_['lam']:g}")


def _binned(strategy: Any) -> Method:
    """Numbers of bins are chosen for each class by itself."""

    def fit(given: Given) -> Fitted:
        histogram = HistogramCalibrator(strategy=strategy, classes=given.classes)
        all_classes = _fit_search(given, OneVsRestCalibrator(_search(given, histogram)))
        chosen = [one.best_params_["n_bins"] for one in all_classes.calibrators_]
        return Fitted(all_classes, " ".join(map(str, chosen)))

    return fit


def _temperature(given: Given) -> Fitted:
    map_ = TemperatureScaling(classes=given.classes, clip=_FLOOR)
    return Fitted(map_.fit(given.fit.scores, given.fit.y))


def _auto(given: Given) -> Fitted:
    auto = AutoCalibrator(classes=given.classes).fit(given.fit.scores, given.fit.y)
    return Fitted(auto, auto.choice_)


def _legacy_temperature(given: Given) -> Fitted:
    """As published: a zero made the gradient NaN, and the temperature stayed at 1."""
    if (given.fit.scores == 0.0).any():
        return METHODS["Uncal"](given)
    return _temperature(given)


METHODS: dict[str, Method] = {
    "DirL2": _dirichlet,
    "Beta": _plain(
        lambda classes: OneVsRestCalibrator(BetaCalibrator(clip=_FLOOR), classes=classes)
    ),
    "FreqB": _binned("frequency"),
    "Isot": _plain(lambda classes: OneVsRestCalibrator(IsotonicCalibrator(), classes=classes)),
    "WidB": _binned("width"),
    "TempS": _temperature,
    "Uncal": _plain(lambda classes: IdentityCalibrator(classes=classes)),
    "TempS-2019": _legacy_temperature,
    "Bayes": _plain(lambda classes: BayesianDirichletCalibrator(classes=classes)),
    "Auto": _auto,
}
LEGACY = "TempS-2019"
OURS = ("Bayes", "Auto")
"""Methods that the paper does not have; they see the rows to fit on alone."""
PAPER_METHODS = tuple(name for name in METHODS if name not in (LEGACY, *OURS))
