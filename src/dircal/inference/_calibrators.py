"""Calibrators by name, as a comparison takes them."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from dircal import calibrators as calibrators_room
from dircal import selection
from dircal._calibrator_names import CALIBRATOR_NAMES
from dircal._typing import InputScale
from dircal.calibrators import AbstractCalibrator
from dircal.tables import show

__all__ = ["UNCALIBRATED", "agree_on_classes", "check_calibrators"]

UNCALIBRATED = "uncalibrated"
"""Name of the predictions as they are."""


def check_calibrators(calibrators: Any, n_classes: int = 2) -> dict[str, Any]:
    """Calibrators by name, that read the same scale.

    Text stands for a calibrator; one for two classes is made one of each class against the rest
    where there are more.
    """
    named = _with_names(calibrators)
    read: set[InputScale] = {
        one.input_scale for one in named.values() if isinstance(one, AbstractCalibrator)
    }
    scale: InputScale = read.pop() if len(read) == 1 else "probability"
    found = {name: _make(name, one, scale, n_classes) for name, one in named.items()}
    scales = {name: one.input_scale for name, one in found.items()}
    if len({*scales.values()}) > 1:
        raise ValueError(
            f"`calibrators` do not read the same scale: {scales}. Compare those that read "
            "probabilities, or those that read logits."
        )
    return found


def _with_names(calibrators: Any) -> dict[str, Any]:
    """What was given, by name: as in a mapping, or after the text or the class of each."""
    if isinstance(calibrators, Mapping):
        named = dict(calibrators)
    elif isinstance(calibrators, Iterable) and not isinstance(calibrators, str):
        given = list(calibrators)
        named = {one if isinstance(one, str) else type(one).__name__: one for one in given}
        if len(named) < len(given):
            raise ValueError(
                "`calibrators` holds two of one class, which would have one name. "
                "Pass a dict: {'weak': ..., 'strong': ...}."
            )
    else:
        raise ValueError(
            f"`calibrators` must be a dict or a list of calibrators; got {calibrators!r}. "
            "Pass for example ['temperature', DirichletCalibrator()]."
        )
    if not named:
        raise ValueError("`calibrators` is empty. Pass at least one, as [TemperatureScaling()].")
    for name in named:
        if not isinstance(name, str) or name == UNCALIBRATED:
            raise ValueError(
                f"`calibrators` must have names that are text, and not {UNCALIBRATED!r}, the name "
                f"of no calibration; got {name!r}. Call it something else."
            )
    return named


def _make(name: str, value: Any, scale: InputScale, n_classes: int) -> Any:
    """A calibrator as it is, of a short name, or around a classifier of another library."""
    if isinstance(value, str):
        if value not in CALIBRATOR_NAMES:
            near = difflib.get_close_matches(value, CALIBRATOR_NAMES, n=1)
            raise ValueError(
                f"`calibrators` holds {value!r}, which is the name of none; there are "
                f"{', '.join(CALIBRATOR_NAMES)}." + (f" Did you mean {near[0]!r}?" if near else "")
            )
        kind = CALIBRATOR_NAMES[value]
        room = selection if hasattr(selection, kind) else calibrators_room
        made = getattr(room, kind)(input_scale=scale)
        binary = not get_tags(made).classifier_tags.multi_class
        return selection.OneVsRestCalibrator(made) if binary and n_classes > 2 else made
    return selection.check_calibrator(value, f"calibrators[{name!r}]")


def agree_on_classes(calibrators: Mapping[str, Any], classes: Any) -> Any:
    """Label of each column, as given or as the calibrators were told; two orders are refused."""
    for name, calibrator in calibrators.items():
        told = calibrator.method().labels_of_columns
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
