"""The calibrators of a report, and the probabilities that they give to rows they have not seen."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dircal._typing import InputScale, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.exceptions import warn
from dircal.inference import (
    UNCALIBRATED,
    AbstractEvaluationSplit,
    CrossFitted,
    agree_on_classes,
    check_calibrators,
)
from dircal.metrics import Predictions
from dircal.report._steps import Steps
from dircal.selection import AutoCalibrator, check_calibrator
from dircal.tables import check_option, show

__all__ = ["Candidate", "Predicted", "check_candidates", "check_classes", "fit_on_all", "predict"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A calibrator of the user, and whether it is fitted already."""

    name: str
    calibrator: AbstractCalibrator
    is_fitted: bool

    @property
    def code(self) -> str:
        """The call that makes the calibrator, on one line and with nothing left out."""
        return self.code_for(None)

    def code_for(self, classes: list[Any] | None) -> str:
        """The same, with the label of each column where the calibrator was not told."""
        copy: Any = clone(self.calibrator)
        if classes is not None and copy.method().labels_of_columns is None:
            told = copy
            while "classes" not in told.get_params(deep=False):
                told = told.calibrator
            told.set_params(classes=classes)
        for name, value in copy.get_params().items():
            if not hasattr(value, "get_params"):
                copy.set_params(**{name: _without_numpy(value)})
        # The repr of scikit-learn breaks lines for a terminal, and cuts what is long.
        return " ".join(copy.__repr__(N_CHAR_MAX=sys.maxsize).split())


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of the scored rows: as they are, out of fold, or of a fitted map."""

    name: str
    role: Literal["uncalibrated", "cross-fitted", "fitted"]
    candidate: Candidate | None
    predictions: Predictions = field(repr=False)
    fit_warnings: tuple[str, ...]
    tried: CrossFitted | None = field(default=None, repr=False)


def check_candidates(calibrators: Any, input_scale: InputScale) -> list[Candidate]:
    """Calibrators by name; the default one where there are none."""
    check_option("input_scale", input_scale, ("probability", "logit"))
    if calibrators is None:
        calibrators = [AutoCalibrator(input_scale=input_scale)]
    elif isinstance(calibrators, AbstractCalibrator):
        calibrators = [calibrators]
    named: Mapping[str, AbstractCalibrator] = check_calibrators(calibrators)
    for name, calibrator in named.items():
        check_calibrator(calibrator, f"calibrators[{name!r}]")
        if calibrator.input_scale != input_scale:
            raise ValueError(
                f"`calibrators` must read what `input_scale` says, {input_scale!r}; {name!r} has "
                f"input_scale={calibrator.input_scale!r}. Set the same one in both."
            )
    return [Candidate(name, one, _is_fitted(one)) for name, one in named.items()]


def check_classes(
    candidates: list[Candidate], classes: Iterable[Any] | None, known: LabelArray | None = None
) -> Any:
    """Label of each column, as given or as a calibrator knows it.

    With the ``known`` classes of the rows, fitted calibrators of others are refused.
    """
    fresh = {one.name: one.calibrator for one in candidates if not one.is_fitted}
    if known is None:
        classes = agree_on_classes(fresh, classes)
    for one in candidates:
        if not one.is_fitted:
            continue
        if known is not None and one.calibrator.classes_.tolist() != known.tolist():
            raise ValueError(
                f"`calibrators` must be fitted on the classes of the rows, {show(known)}; "
                f"{one.name!r} was fitted on {show(one.calibrator.classes_)}. "
                "Pass the rows of the same classes, or a calibrator that is not fitted."
            )
        if classes is None:
            classes = one.calibrator.column_classes_
    return classes


def predict(
    candidates: list[Candidate], split: AbstractEvaluationSplit, steps: Steps
) -> list[Predicted]:
    """Probabilities of the scored rows, as they are first: out of fold, or from a fitted map."""
    scale = candidates[0].calibrator.input_scale
    first = split.as_they_are(scale).hold()
    found = [Predicted(UNCALIBRATED, "uncalibrated", None, first, ())]
    for one in candidates:
        steps.begin(f"calibrating with {one.name}")
        if one.is_fitted:
            calibrated = split.with_map(one.calibrator)
            found.append(Predicted(one.name, "fitted", one, calibrated.hold(), ()))
            steps.advance()
            continue
        tried = split.cross_fit(one.calibrator, steps.advance, f"calibrators[{one.name!r}]")
        for message, category in tried.warnings:
            warn(f"{one.name}: {message}", category)
        messages = tuple(message for message, _ in tried.warnings)
        calibrated = tried.predictions.hold()
        found.append(Predicted(one.name, "cross-fitted", one, calibrated, messages, tried))
    return found


def fit_on_all(chosen: Predicted, split: AbstractEvaluationSplit) -> AbstractCalibrator:
    """The map that a user would go on with: the fitted one, or one fitted on all rows."""
    assert chosen.candidate is not None
    if chosen.candidate.is_fitted:
        return chosen.candidate.calibrator
    return split.fit_on_all(chosen.candidate.calibrator, chosen.tried)


def _without_numpy(value: Any) -> Any:
    """Numbers and arrays of NumPy as those of Python, which can be written without an import."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return type(value)([_without_numpy(one) for one in value])
    if isinstance(value, dict):
        return {key: _without_numpy(one) for key, one in value.items()}
    return value


def _is_fitted(calibrator: AbstractCalibrator) -> bool:
    try:
        check_is_fitted(calibrator)
    except NotFittedError:
        return False
    return True
