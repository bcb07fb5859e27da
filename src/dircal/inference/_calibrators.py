"""Calibrators by name, as a comparison takes them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dircal.calibrators import AbstractCalibrator
from dircal.selection import check_calibrator
from dircal.validation import show

__all__ = ["UNCALIBRATED", "agree_on_classes", "check_calibrators"]

UNCALIBRATED = "uncalibrated"
"""Name of the predictions as they are."""


def check_calibrators(calibrators: Any) -> dict[str, AbstractCalibrator]:
    """Calibrators by name, that read the same scale."""
    if isinstance(calibrators, Mapping):
        named = dict(calibrators)
    elif isinstance(calibrators, Iterable) and not isinstance(calibrators, str):
        given = list(calibrators)
        named = {type(one).__name__: one for one in given}
        if len(named) < len(given):
            raise ValueError(
                "`calibrators` holds two of one class, which would have one name. "
                "Pass a dict: {'weak': ..., 'strong': ...}."
            )
    else:
        raise ValueError(
            f"`calibrators` must be a dict or a list of calibrators; got {calibrators!r}. "
            "Pass for example [TemperatureScaling(), DirichletCalibrator()]."
        )
    if not named:
        raise ValueError("`calibrators` is empty. Pass at least one, as [TemperatureScaling()].")
    for name, calibrator in named.items():
        if not isinstance(name, str) or name == UNCALIBRATED:
            raise ValueError(
                f"`calibrators` must have names that are text, and not {UNCALIBRATED!r}, the name "
                f"of no calibration; got {name!r}. Call it something else."
            )
        check_calibrator(calibrator, f"calibrators[{name!r}]")
    scales = {name: calibrator.input_scale for name, calibrator in named.items()}
    if len({*scales.values()}) > 1:
        raise ValueError(
            f"`calibrators` do not read the same scale: {scales}. Compare those that read "
            "probabilities, or those that read logits."
        )
    return named


def agree_on_classes(calibrators: Mapping[str, AbstractCalibrator], classes: Any) -> Any:
    """Label of each column, as given or as the calibrators were told; two orders are refused."""
    for name, calibrator in calibrators.items():
        told = calibrator._labels_of_columns
        if told is None:
            continue
        if classes is None:
            classes = told
        elif [*classes] != [*told]:
            ours, theirs = (show(np.array([*one], dtype=object)) for one in (classes, told))
            raise ValueError(
                f"`calibrators` must name the columns as `classes` or the others do, {ours}; "
                f"{name!r} has classes={theirs}. Pass `classes` once, and leave it out there."
            )
    return classes
