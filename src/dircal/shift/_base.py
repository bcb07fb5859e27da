"""Base class for calibrators that extend a fitted calibrator."""

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.utils import Tags, get_tags

from dircal.calibrators import AbstractCalibrator, Fit
from dircal.explain import Explanation
from dircal.maps import AbstractStep, CalibrationMap, LogProbability, Scale, Softmax, mean_of_maps
from dircal.selection import (
    AbstractMetaCalibrator,
    AbstractMetaMethod,
    check_calibrator,
    check_same_columns,
)
from dircal.tables import Arguments

__all__ = [
    "AbstractAdapted",
    "AbstractAdaptedMethod",
    "chain",
    "check_fitted_calibrator",
    "sentences_alone",
    "weighted_mean",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractAdaptedMethod(AbstractMetaMethod):
    """A method that extends the fit of another one, and reads what that one reads."""

    @property
    def arguments(self) -> Arguments:
        """Rules for reading `X` and `y`, of the calibrator inside."""
        return self.inner.arguments

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless the calibrator inside reads the same columns."""
        check_same_columns(fit.members[:1], fit, "`calibrator_` has")


class AbstractAdapted(AbstractMetaCalibrator):
    """A fitted calibrator, and what was learned after it."""

    @property
    def calibrator_(self) -> AbstractCalibrator:
        """The fitted calibrator inside."""
        return self.fit_.members[0]

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
