"""What estimators that take a calibrator share."""

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from dircal._typing import InputScale
from dircal.calibrators._base import AbstractCalibrator

__all__ = ["AbstractMetaCalibrator", "check_calibrator", "clone_with_classes", "innermost"]


class AbstractMetaCalibrator(AbstractCalibrator):
    """A calibrator made of others; `X` and `y` are read as the innermost of them says."""

    calibrator: Any

    @property
    def input_scale(self) -> InputScale:  # type: ignore[override]
        """What `X` holds, as the innermost calibrator says."""
        scale: InputScale = innermost(self.calibrator).input_scale
        return scale

    @property
    def classes(self) -> Iterable[Any] | None:  # type: ignore[override]
        """Label of each column of `X`, as the innermost calibrator says."""
        classes: Iterable[Any] | None = innermost(self.calibrator).classes
        return classes


def innermost(calibrator: Any) -> Any:
    """The calibrator inside others: follows the attribute ``calibrator``."""
    inside = getattr(calibrator, "calibrator", None)
    return calibrator if inside is None else innermost(inside)


def clone_with_classes(calibrator: Any, classes: Iterable[Any]) -> Any:
    """An unfitted copy whose innermost calibrator knows the labels of its columns."""
    copy = clone(calibrator)
    innermost(copy).set_params(classes=classes)
    return copy


def check_calibrator(calibrator: Any) -> None:
    """Refuse what is not a calibrator, or a class instead of an object."""
    inner = innermost(calibrator)
    if isinstance(calibrator, type) or not all(
        hasattr(inner, name) for name in ("fit", "predict_proba", "input_scale", "classes")
    ):
        raise ValueError(
            f"`calibrator` must be a calibrator of dircal; got {calibrator!r}. "
            "Pass an object, for example IsotonicCalibrator()."
        )
