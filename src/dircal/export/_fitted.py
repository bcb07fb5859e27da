"""What an export takes from a fitted calibrator: its map, and the labels on both sides."""

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dircal._typing import InputScale, LabelArray
from dircal.export._expression import Expression, Input
from dircal.export._lower import lower_logits, lower_map
from dircal.maps import CalibrationMap
from dircal.selection import CalibratedClassifier

__all__ = ["Fitted", "check_fitted"]


@dataclass(frozen=True)
class Fitted:
    """A map, the class of its calibrator, and what goes in and comes out.

    ``columns`` and ``classes`` are labels as other programs can hold them: strings, numbers and
    truth values as they are, anything else as text.
    """

    name: str
    chain: CalibrationMap
    input_scale: InputScale
    columns: list[Any]
    classes: list[Any]

    def expression(self, largest_logit: float | None = None) -> Expression:
        """The whole map; logits beyond the largest are brought back to it first."""
        x: Expression = Input(len(self.columns))
        if self.input_scale == "logit":
            return lower_logits(self.chain, x, largest_logit)
        return lower_map(self.chain, x)


def check_fitted(calibrator: Any) -> Fitted:
    """Refuse what has no map of scores, or none yet."""
    if isinstance(calibrator, CalibratedClassifier):
        raise ValueError(
            "`calibrator` is a CalibratedClassifier, which holds a classifier as well; only maps "
            "of scores can be exported. Export one of its `calibrators_`, and the classifier by "
            "its own means."
        )
    if not isinstance(calibrator, BaseEstimator) or not hasattr(calibrator, "input_scale"):
        what = f"the class {calibrator.__name__}" if isinstance(calibrator, type) else calibrator
        raise ValueError(
            f"`calibrator` must be a fitted calibrator of dircal; got {what!r}. "
            "Pass for example DirichletCalibrator().fit(X, y)."
        )
    check_is_fitted(calibrator)
    # A single column is that of the positive class, whose label comes last.
    columns = calibrator.column_classes_[-calibrator.n_features_in_ :]
    return Fitted(
        type(calibrator).__name__,
        calibrator.map_,
        calibrator.input_scale,
        _plain(columns),
        _plain(calibrator.classes_),
    )


def _plain(labels: LabelArray) -> list[Any]:
    return [_plain_label(label) for label in labels.tolist()]


def _plain_label(label: Any) -> Any:
    if isinstance(label, bytes):
        return label.decode("latin1")
    return label if isinstance(label, str | int | float | bool) else str(label)
