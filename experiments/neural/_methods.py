"""The methods of the comparison as the paper's code has them, and ours beside them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.model_selection import KFold

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    IdentityCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

from ._grids import Grid
from ._networks import Entry, Network

__all__ = [
    "GENERAL",
    "METHODS",
    "OURS",
    "PAPER_METHODS",
    "Choice",
    "Fitted",
    "names_of",
]

FloatArray = npt.NDArray[np.float64]
Penalty = Literal["odir", "l2"]

_FOLDS, _SEED = 5, 15
# The floor of probabilities in the authors' code.
_FLOOR = float(np.finfo(np.float64).eps)


class Map(NamedTuple):
    """The matrix (k, k) and the intercepts (k,) of a linear map."""

    W: FloatArray
    b: FloatArray


@dataclass(frozen=True)
class Choice:
    """A strength that was chosen, in the units of the authors' code, and its place in the grid."""

    parameter: str
    value: float
    position: int
    """Counted from 1, the smallest value."""
    n_values: int


@dataclass(frozen=True)
class Fitted:
    """Probabilities of the test rows, by the names of methods, and how they came about."""

    proba: dict[str, FloatArray]
    maps: tuple[Map, ...] = ()
    """The fitted maps, where they are linear."""
    choices: tuple[Choice, ...] = ()


Fit = Callable[[Network, Grid], Fitted]


@dataclass(frozen=True)
class Method:
    """How a method is fitted, what it needs, and what else comes of the same fit."""

    fit: Fit
    needs_logits: bool = False
    also: tuple[str, ...] = field(default=())


def names_of(network: Network | Entry) -> Iterator[str]:
    """Methods that can be fitted on a network; those that come along with others are not named."""
    for name, method in METHODS.items():
        if network.has_logits or not method.needs_logits:
            yield name


def _plain(name: str, make: Callable[..., Any], scale: str = "probability") -> Fit:
    """A calibrator without hyperparameters."""

    def fit(network: Network, grid: Grid) -> Fitted:
        del grid
        options = {"input_scale": scale, "classes": np.arange(network.n_classes)}
        calibrator = make(**options).fit(_inputs(network, "fit", scale), network.fit.y)
        proba = calibrator.predict_proba(_inputs(network, "test", scale))
        return Fitted({name: proba}, _maps([calibrator]))

    return fit


def _temperature(network: Network, grid: Grid) -> Fitted:
    return _plain("TempS", _temperature_scaling, _best_scale(network))(network, grid)


def _searched(name: str, make: Callable[..., Any], penalty: Penalty) -> Fit:
    """Strengths by five folds; the five maps of the best are averaged, not fitted again."""

    def fit(network: Network, grid: Grid) -> Fitted:
        k, scale = network.n_classes, _best_scale(network)
        calibrator = make(
            penalty=penalty,
            input_scale=scale,
            classes=np.arange(k),
            clip=_clip(scale),
            tol=grid.tol,
        )
        folds = KFold(_FOLDS, shuffle=True, random_state=_SEED)
        search = CalibratorCV(calibrator, grid.settings(penalty, k), cv=folds)
        search.fit(_inputs(network, "fit", scale), network.fit.y)
        proba = search.predict_proba(_inputs(network, "test", scale))
        return Fitted(
            {name: proba}, _maps(search.calibrators_), tuple(_choices(search, penalty, k))
        )

    return fit


def _with_zeros(network: Network, grid: Grid) -> Fitted:
    """Matrix scaling, and once more with zeros off the diagonal of its maps."""
    fitted = _searched("MS-ODIR", MatrixScaling, "odir")(network, grid)
    logits = _inputs(network, "test", "logit")
    zero = [softmax(logits * np.diag(map_.W) + map_.b, axis=1) for map_ in fitted.maps]
    both = {**fitted.proba, "MS-ODIR-zero": np.mean(zero, axis=0)}
    return Fitted(both, fitted.maps, fitted.choices)


def _choices(search: CalibratorCV, penalty: Penalty, k: int) -> Iterator[Choice]:
    factors = {"lam": k * (k - 1), "mu": k} if penalty == "odir" else {"lam": 1}
    for parameter, factor in factors.items():
        tried = np.unique([setting[parameter] for setting in search.cv_results_["params"]])
        best = search.best_params_[parameter]
        position = int(np.searchsorted(tried, best)) + 1
        yield Choice(parameter, float(f"{best / factor:.6g}"), position, len(tried))


def _maps(calibrators: list[Any]) -> tuple[Map, ...]:
    """What linear calibrators found; nothing of others."""
    if not all(hasattr(one, "coef_") for one in calibrators):
        return ()
    return tuple(Map(one.coef_, one.intercept_) for one in calibrators)


def _best_scale(network: Network) -> str:
    """Logits where there are any: their log-softmax has no zeros and needs no floor."""
    return "logit" if network.has_logits else "probability"


def _clip(scale: str) -> Any:
    return "learned" if scale == "logit" else _FLOOR


def _inputs(network: Network, part: Literal["fit", "test"], scale: str) -> FloatArray:
    chosen = network.fit if part == "fit" else network.test
    values = chosen.logits if scale == "logit" else chosen.proba
    if values is None:
        raise ValueError(f"{network.name} has no logits")
    return values


def _temperature_scaling(**options: Any) -> TemperatureScaling:
    return TemperatureScaling(clip=_clip(options["input_scale"]), **options)


def _fixed_prior(**options: Any) -> BayesianDirichletCalibrator:
    return BayesianDirichletCalibrator(prior="fixed", **options)


def _identity(**options: Any) -> IdentityCalibrator:
    return IdentityCalibrator(**options)


METHODS: dict[str, Method] = {
    "Uncal": Method(_plain("Uncal", _identity)),
    "TempS": Method(_temperature),
    "Dir-L2": Method(_searched("Dir-L2", DirichletCalibrator, "l2")),
    "Dir-ODIR": Method(_searched("Dir-ODIR", DirichletCalibrator, "odir")),
    "VecS": Method(_plain("VecS", VectorScaling, "logit"), True),
    "MS-ODIR": Method(_with_zeros, True, ("MS-ODIR-zero",)),
    "SMS": Method(_plain("SMS", _fixed_prior)),
    "Bayes": Method(_plain("Bayes", BayesianDirichletCalibrator)),
    "Bayes-logits": Method(_plain("Bayes-logits", BayesianDirichletCalibrator, "logit"), True),
    "Auto": Method(_plain("Auto", AutoCalibrator)),
}
PAPER_METHODS = ("Uncal", "TempS", "Dir-L2", "Dir-ODIR", "VecS", "MS-ODIR")
GENERAL = ("Uncal", "TempS", "Dir-L2", "Dir-ODIR")
"""Those that need no logits."""
OURS = ("SMS", "Bayes", "Bayes-logits", "Auto")
