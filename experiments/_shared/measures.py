"""The eight measures of the paper, as its tables have them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dircal import calibration_test, metrics

__all__ = ["HIGHER_IS_BETTER", "MEASURES", "Scores"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Measures of probabilities for one set of labels."""

    y: npt.NDArray[np.int64]
    n_classes: int
    n_resamples: int
    random_state: int
    mce_over: Literal["confidence", "classes"]
    """The tables of the two experiments define this measure differently."""

    def __call__(self, name: str, proba: FloatArray) -> float:
        return _MEASURES[name](self, proba)

    def measure(self, function: Callable[..., float], proba: FloatArray, **options: str) -> float:
        """A measure without chance in it."""
        return function(self.y, proba, classes=np.arange(self.n_classes), **options)

    def pvalue(self, statistic: str, proba: FloatArray, **options: str | int) -> float:
        """How often labels that follow the probabilities have a larger error."""
        test = calibration_test(
            self.y,
            proba,
            statistic=statistic,  # type: ignore[arg-type]
            n_resamples=self.n_resamples,
            random_state=self.random_state,
            classes=np.arange(self.n_classes),
            **options,  # type: ignore[arg-type]
        )
        return test.pvalue


# Brier by n·k and cw-ECE in the bins of the authors' code. cw-ECE is the mean over classes of the
# paper's formula; its tables print the sum.
_MEASURES: dict[str, Callable[[Scores, FloatArray], float]] = {
    "accuracy": lambda s, p: s.measure(metrics.accuracy, p),
    "log-loss": lambda s, p: s.measure(metrics.log_loss, p),
    "Brier": lambda s, p: s.measure(metrics.brier_score, p, normalisation="classes"),
    "MCE": lambda s, p: s.measure(metrics.maximum_calibration_error, p, over=s.mce_over),
    "conf-ECE": lambda s, p: s.measure(metrics.confidence_ece, p),
    "cw-ECE": lambda s, p: s.measure(metrics.classwise_ece, p, binning="paper_table"),
    "p-conf-ECE": lambda s, p: s.pvalue("confidence_ece", p),
    "p-cw-ECE": lambda s, p: s.pvalue("classwise_ece", p, binning="paper_table"),
}
MEASURES = tuple(_MEASURES)
HIGHER_IS_BETTER = ("accuracy", "p-conf-ECE", "p-cw-ECE")
