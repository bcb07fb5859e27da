"""Estimators of other libraries as calibrators."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from dircal._core.data.simplex import ROUNDING
from dircal._typing import FloatArray, InputScale
from dircal.calibrators._base import AbstractCalibrator
from dircal.calibrators._fit import AbstractScoreMethod, Fit, Notice, reader_of
from dircal.exceptions import SampleWeightWarning
from dircal.maps import AbstractStep, Normalise
from dircal.tables import ArrayRows, LabelledRows

__all__ = ["ExternalCalibrator", "is_external"]

# Rows of other libraries may differ from a sum of one by rounding, and by no more.
_MAX_ROW_SUM_ERROR = 1e-3


def is_external(value: object) -> bool:
    """Whether it can be fitted on probabilities and returns probabilities."""
    needed = ("fit", "predict_proba", "get_params")
    return not isinstance(value, type) and all(hasattr(value, name) for name in needed)


@dataclass(frozen=True, eq=False)
class External(AbstractStep):
    """The ``predict_proba`` of a fitted estimator of another library.

    ``seen`` are the numbers of the classes that it was fitted on; others have probability zero.
    """

    estimator: Any
    seen: tuple[int, ...]
    n_classes: int

    gives_proba: ClassVar[bool] = True

    @property
    def input_scale(self) -> InputScale:
        """The scale that it reads."""
        return "probability"

    def apply(self, block: FloatArray) -> FloatArray:
        """Return the probabilities of the estimator."""
        rows, name = np.ascontiguousarray(block.T), type(self.estimator).__name__
        given = np.asarray(self.estimator.predict_proba(rows), dtype=np.float64)
        wanted = (len(rows), len(self.seen))
        if given.shape != wanted:
            raise ValueError(
                f"`calibrators` holds {name}, whose predict_proba returns an array of shape "
                f"{given.shape}; it must be {wanted}, a column for each class that it was "
                "fitted on."
            )
        sums = given.sum(axis=1)
        fine = (np.abs(sums - 1.0) < _MAX_ROW_SUM_ERROR) & (given >= 0.0).all(axis=1)
        if not fine.all():
            row = int(np.argmin(fine))
            raise ValueError(
                f"`calibrators` holds {name}, whose predict_proba does not return probabilities: "
                f"row {row} is {given[row]}. Pass an estimator whose rows are not negative and "
                "sum to one."
            )
        proba = np.zeros((self.n_classes, len(rows)))
        proba[list(self.seen)] = (given / sums[:, None]).T
        return proba

    def n_out(self, n_in: int) -> int:
        """Return the number of classes."""
        del n_in
        return self.n_classes


@dataclass(frozen=True, eq=False, kw_only=True)
class ExternalMethod(AbstractScoreMethod):
    """An estimator of another library as a method: it reads probabilities and labels."""

    estimator: Any
    input_scale: InputScale = "probability"
    classes: Iterable[Any] | None = None

    name: ClassVar[str] = "ExternalCalibrator"

    def learn(self, rows: LabelledRows) -> Fit:
        """Fit a copy of the estimator on probabilities in the sorted order of the classes."""
        data: ArrayRows = rows.in_memory
        name = type(self.estimator).__name__
        if data.targets is not None:
            raise ValueError(
                f"`y` holds soft labels, but {name} of another library learns from one label for "
                "each row. Pass one label for each row."
            )
        steps = (Normalise(ROUNDING),)
        features = reader_of(data, "probability", steps)(data.inputs).T
        weight, notices = data.sample_weight, tuple[Notice, ...]()
        options = {}
        if weight is not None and has_fit_parameter(self.estimator, "sample_weight"):
            options = {"sample_weight": weight}
        elif weight is not None:
            message = f"`sample_weight` is ignored by {name}, whose `fit` does not accept it."
            notices = ((message, SampleWeightWarning),)
        fitted = clone(self.estimator)
        fitted.fit(np.ascontiguousarray(features), data.classes[data.labels], **options)
        seen = np.searchsorted(data.classes, np.asarray(fitted.classes_))
        step = External(fitted, tuple(seen.tolist()), len(data.classes))
        return Fit.from_steps(data, "probability", (*steps, step), notices=notices)


class ExternalCalibrator(AbstractCalibrator):
    """An ``estimator`` with `fit` and `predict_proba`, fitted on probabilities and labels.

    It reads the probabilities in the sorted order of the classes; a class that it has not seen has
    probability zero.
    """

    input_scale: ClassVar[InputScale] = "probability"
    method_class: ClassVar = ExternalMethod

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
