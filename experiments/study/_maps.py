"""The maps of the study, from one temperature to curves, all fitted on the same scores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    DirichletCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from experiments.neural._networks import Network, Part

__all__ = ["MAPS", "REFERENCE", "Scores", "can_be_fitted", "make_map", "scores_of"]

FloatArray = npt.NDArray[np.float64]

REFERENCE = "temperature"
_ROWS_FOR_A_CLASS = 5
"""Vector scaling has no penalty: with fewer rows it follows single ones."""


@dataclass(frozen=True)
class Scores:
    """Log-probabilities (n, k) and labels 0..k-1 to fit on, and those to test on."""

    fit: FloatArray
    fit_y: npt.NDArray[np.int64]
    test: FloatArray
    test_y: npt.NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.fit.shape[1])


def scores_of(network: Network) -> Scores:
    """The same log-probabilities for every map, so that a gain is never that of another clip.

    Those of logits are their log-softmax. Probabilities get the clip that temperature scaling
    learns on the rows to fit on.
    """
    clip = 0.0
    if not network.has_logits:
        scaling = TemperatureScaling(classes=range(network.n_classes))
        clip = scaling.fit(network.fit.proba, network.fit.y).clip_

    def logs(part: Part) -> FloatArray:
        raw = part.logits
        if raw is None:
            raw = np.log(np.maximum(part.proba, max(clip, np.finfo(float).tiny)))
        scores: FloatArray = log_softmax(raw, axis=1)
        return scores

    return Scores(logs(network.fit), network.fit.y, logs(network.test), network.test.y)


MAPS: dict[str, Callable[..., Any]] = {
    REFERENCE: TemperatureScaling,
    "vector": VectorScaling,
    "full": DirichletCalibrator,
    "curved": BayesianDirichletCalibrator,
    "auto": AutoCalibrator,
}
"""By name; strengths of the full one are learned, and so are the priors of the curved one."""


def make_map(name: str, n_classes: int, **options: Any) -> Any:
    """A map that is not fitted yet, for scores."""
    return MAPS[name](input_scale="logit", classes=range(n_classes), **options)


def can_be_fitted(name: str, scores: Scores) -> bool:
    """Whether there are rows enough."""
    return name != "vector" or len(scores.fit_y) >= _ROWS_FOR_A_CLASS * scores.n_classes
