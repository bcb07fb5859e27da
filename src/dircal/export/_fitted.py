"""What an export takes from a fitted calibrator: its map, and the labels on both sides."""

from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dircal._typing import InputScale, LabelArray
from dircal.export._expression import Expression, Input
from dircal.export._lower import if_masked, lower_map
from dircal.maps import CalibrationMap
from dircal.selection import CalibratedClassifier
from dircal.tables import as_plain, plain_labels_advice

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
        if self.input_scale == "logit" and largest_logit is not None:
            x = if_masked(x, x, x.at_most(largest_logit).at_least(-largest_logit))
        return lower_map(self.chain.with_masks, x)


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
    if len(getattr(calibrator, "groups_", ())):
        raise ValueError(
            f"`calibrator` has a map for each of {len(calibrator.groups_)} groups, and an export "
            "holds one. Export calibrator.calibrator_of(group) for each group, and "
            "calibrator.calibrator_of(None) for new ones; the caller chooses by the group of a row."
        )
    name = type(calibrator).__name__
    # A single column is that of the positive class, whose label comes last.
    columns = calibrator.column_classes_[-calibrator.n_features_in_ :]
    return Fitted(
        name if name.isidentifier() else "calibrator",
        calibrator.map_,
        calibrator.input_scale,
        _plain_labels(columns),
        _plain_labels(calibrator.classes_),
    )


def _plain_labels(labels: LabelArray) -> list[Any]:
    if labels.dtype.kind in "mM":
        # As texts with their unit; as Python's own some would be bare numbers.
        return [str(label) for label in labels]
    plain = [_plain_label(label) for label in labels.tolist()]
    if len(set(plain)) < len(plain):
        kind = type(labels[0])
        raise ValueError(
            f"`calibrator` has labels of the type {kind.__name__}, and some have the same text. "
            f"{plain_labels_advice(kind)}"
        )
    return plain


def _plain_label(label: Any) -> Any:
    """A label of one of the types that every program has, and of no class derived from them."""
    plain = as_plain(label)
    if type(plain) in (str, int, float, bool):
        return plain
    return as_plain(bytes(plain).decode("latin1") if isinstance(plain, bytes) else str(plain))
