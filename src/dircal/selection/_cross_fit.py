"""Probabilities of rows from maps that were fitted on other rows."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import get_tags

from dircal._typing import FloatArray
from dircal.calibrators import AbstractCalibrator, Notice
from dircal.selection._splits import Split
from dircal.tables import ArrayRows

__all__ = ["check_multiclass", "cross_fit", "scored_rows"]


def scored_rows(splits: list[Split]) -> npt.NDArray[np.intp]:
    """Rows that some fold scores, in the order of the folds; each may be scored once."""
    rows = np.concatenate([scoring for _, scoring in splits])
    seen, times = np.unique(rows, return_counts=True)
    if times.max() > 1:
        raise ValueError(
            f"`cv` must score no row twice, but row {seen[times.argmax()]} is scored "
            f"{times.max()} times. Pass folds that share no rows, for example cv=5."
        )
    return rows


def check_multiclass(calibrator: AbstractCalibrator, n_classes: int, argument: str) -> None:
    """Refuse a calibrator for two classes where there are more."""
    if n_classes > 2 and not get_tags(calibrator).classifier_tags.multi_class:
        name = type(calibrator).__name__
        raise ValueError(
            f"`{argument}` is {name}, which is for two classes, but there are {n_classes}. "
            f"Pass OneVsRestCalibrator({name}())."
        )


def cross_fit(
    calibrator: AbstractCalibrator,
    data: ArrayRows,
    splits: list[Split],
    advance: Callable[[int], None],
    argument: str = "calibrator",
) -> tuple[FloatArray, list[Notice]]:
    """Calibrated probabilities of the scored rows (m, k), and what the fits warn about."""
    check_multiclass(calibrator, len(data.classes), argument)
    notices: list[Notice] = []
    parts, method = [], clone(calibrator).method()
    for fitting, scoring in splits:
        fit = method.fit(data.take(fitting))
        notices += fit.notices
        parts.append(fit.predict(data.take(scoring)))
        advance(1)
    # Folds with the same warning warn once.
    return np.concatenate(parts), list(dict.fromkeys(notices))
