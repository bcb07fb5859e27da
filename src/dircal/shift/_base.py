"""What calibrators share that are another fitted calibrator and something after it."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Tags, get_tags

from dircal._typing import InputScale, LabelArray
from dircal.calibrators import AbstractCalibrator, FitWarning
from dircal.explain import Explanation
from dircal.maps import AbstractStep, CalibrationMap, LogProbability, Scale, Softmax, mean_of_maps
from dircal.selection import check_calibrator
from dircal.tables import Arguments

__all__ = [
    "AbstractAdapted",
    "chain",
    "check_fitted_calibrator",
    "sentences_alone",
    "take_columns",
    "weighted_mean",
]


class AbstractAdapted(AbstractCalibrator):
    """A fitted calibrator, and what was learned after it; it reads what that one reads."""

    calibrator: Any
    calibrator_: AbstractCalibrator

    @property
    def input_scale(self) -> InputScale:  # type: ignore[override]
        """Scale that the calibrator inside reads."""
        scale: InputScale = check_calibrator(self.calibrator).input_scale
        return scale

    @property
    def _labels_of_columns(self) -> Iterable[Any] | None:
        inside = check_calibrator(self.calibrator)._labels_of_columns
        return inside if self.classes is None else self.classes

    @property
    def _arguments(self) -> Arguments:  # type: ignore[override]
        return check_calibrator(self.calibrator)._arguments

    @property
    @abstractmethod
    def map_(self) -> CalibrationMap:  # type: ignore[override]
        """The fitted map, and what follows it."""

    def _check_options(self) -> None:
        check_calibrator(self.calibrator)._check_parameters()

    def _members(self) -> Sequence[AbstractCalibrator]:
        return (self.calibrator_,)

    def _fit_warnings(self) -> list[FitWarning]:
        return self.calibrator_._fit_warnings()

    def _check_fitted(self) -> None:
        for name in ("classes_", "column_classes_", "n_features_in_"):
            if not np.array_equal(getattr(self.calibrator_, name), getattr(self, name)):
                raise ValueError(f"`calibrator_` has another `{name}`")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inside = get_tags(check_calibrator(self.calibrator))
        tags.classifier_tags.multi_class = inside.classifier_tags.multi_class
        return tags


def check_fitted_calibrator(value: object, argument: str = "calibrator") -> AbstractCalibrator:
    """Refuse what is no calibrator of this package, or not fitted."""
    calibrator = check_calibrator(value, argument)
    if not hasattr(calibrator, "classes_"):
        raise ValueError(
            f"`{argument}` must be fitted; got {calibrator!r:.80}, which is not. "
            "Fit it on rows with labels first."
        )
    return calibrator


def take_columns(target: AbstractCalibrator, fitted: AbstractCalibrator) -> None:
    """Let one calibrator read the columns of another."""
    target.classes_ = fitted.classes_
    target.column_classes_ = fitted.column_classes_
    target.n_features_in_ = fitted.n_features_in_
    names: LabelArray | None = getattr(fitted, "feature_names_in_", None)
    if names is not None:
        target.feature_names_in_ = names


def chain(first: CalibrationMap, *steps: AbstractStep) -> CalibrationMap:
    """A map with steps from its log-probabilities to logits, and a softmax, after its own.

    Where it ends in a softmax, its logits serve as well: they differ by a constant in each row.
    """
    last = first.steps[-1]
    if isinstance(last, Softmax):
        return CalibrationMap(first.n_columns, (*first.steps[:-1], *steps, last))
    return first.then(LogProbability(), *steps, Softmax())


def weighted_mean(parts: Sequence[tuple[CalibrationMap, float]]) -> CalibrationMap:
    """The mean of maps, each times its weight; a single one as it is."""
    if len(parts) == 1:
        return parts[0][0]
    # The mean divides by the sum.
    return mean_of_maps([each.then(Scale(weight)) for each, weight in parts])


def sentences_alone(name: str, sentences: Sequence[str]) -> Explanation:
    """An explanation of the calibrator of this name that says these sentences, of any rows."""
    why = "\n".join(f"- {sentence}" for sentence in sentences)
    return Explanation(name, "any rows", 0.0, (), (), 0.0, None, why)
