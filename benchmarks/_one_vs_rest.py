"""Rows about one-vs-rest with many classes."""

from collections.abc import Callable
from functools import partial

from _problems import Problem, generate
from _timing import Row, race
from sklearn.isotonic import IsotonicRegression

from dircal import (
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    PlattCalibrator,
)

__all__ = ["one_vs_rest_against_isotonic"]

_N_SAMPLES, _N_CLASSES = 50_000, 100
_CALIBRATORS = {
    "isotonic": (IsotonicCalibrator(), 2.0),
    "histogram": (HistogramCalibrator(), 2.0),
    "histogram, equal frequency": (HistogramCalibrator(strategy="frequency"), None),
    "beta": (BetaCalibrator(), 2.0),
    "Platt": (PlattCalibrator(), None),
}


def one_vs_rest_against_isotonic() -> list[Row]:
    """Fits of all classes beside scikit-learn's isotonic regression on the same columns."""
    problem = generate(_N_SAMPLES, _N_CLASSES)
    theirs = partial(_fit_columns, problem)
    rows = []
    for name, (calibrator, target) in _CALIBRATORS.items():
        ours: Callable[[], object] = partial(
            OneVsRestCalibrator(calibrator).fit, problem.proba, problem.labels
        )
        times = race(ours, theirs)
        rows.append(
            Row(
                f"one-vs-rest {name}, n=50 000, k=100",
                problem.name,
                "s",
                times.ours,
                "scikit-learn isotonic, 100 columns",
                times.theirs,
                target,
            )
        )
    return rows


def _fit_columns(problem: Problem) -> None:
    """What scikit-learn's isotonic calibration does for each class."""
    for j in range(_N_CLASSES):
        regression = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1)
        regression.fit(problem.proba[:, j], problem.labels == j)
