"""Calibrators that use another calibrator."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dircal._core.data.losses import log_losses
from dircal._typing import FloatArray, InputScale
from dircal.calibrators import (
    AbstractCalibrator,
    AbstractMethod,
    ExternalCalibrator,
    Fit,
    is_external,
)
from dircal.tables import ArrayRows

__all__ = [
    "AbstractMetaCalibrator",
    "AbstractMetaMethod",
    "check_calibrator",
    "check_members",
    "check_same_columns",
    "losses_of",
    "mean_of_members",
]


# What stands for the methods of scikit-learn's CalibratedClassifierCV.
_NAMED_BY_SCIKIT_LEARN = {
    "sigmoid": "PlattCalibrator() for two classes, OneVsRestCalibrator(PlattCalibrator()) for more",
    "isotonic": "IsotonicCalibrator() for two classes, "
    "OneVsRestCalibrator(IsotonicCalibrator()) for more",
    "temperature": "TemperatureScaling()",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractMetaMethod(AbstractMethod):
    """A method that uses another one, on the scale and with the labels of that one."""

    calibrator: Any
    classes: Iterable[Any] | None = None

    @property
    def template(self) -> AbstractCalibrator:
        """The calibrator inside."""
        return check_calibrator(self.calibrator)

    @property
    def inner(self) -> AbstractMethod:
        """The method inside."""
        method: AbstractMethod = self.template.method()
        return method

    @property
    def input_scale(self) -> InputScale:  # type: ignore[override]
        """Scale that the calibrator inside reads."""
        return self.template.input_scale  # type: ignore[no-any-return]

    @property
    def labels_of_columns(self) -> Iterable[Any] | None:
        """Label of each column as the user gave it, here or to the calibrator inside."""
        return self.inner.labels_of_columns if self.classes is None else self.classes

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        self.inner.check()

    def default_grid(self, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the settings that a search tries for the calibrator inside."""
        inner = self.inner.default_grid(n_classes)
        if inner is None:
            return None
        return [{f"calibrator__{name}": x for name, x in one.items()} for one in inner]


class AbstractMetaCalibrator(AbstractCalibrator):
    """A calibrator that uses another one, and reads the scale that it reads."""

    calibrator: Any

    @property
    def input_scale(self) -> InputScale:
        """Scale that the calibrator inside reads."""
        scale: InputScale = check_calibrator(self.calibrator).input_scale
        return scale


def check_calibrator(value: object, argument: str = "calibrator") -> AbstractCalibrator:
    """Return a calibrator, or one that wraps an estimator of another library."""
    if not isinstance(value, AbstractCalibrator):
        if is_external(value):
            return ExternalCalibrator(value)
        what = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        example = "for example DirichletCalibrator()"
        if isinstance(value, str):
            example = _NAMED_BY_SCIKIT_LEARN.get(value, example)
        raise ValueError(
            f"`{argument}` must be a calibrator of dircal; got {what}. Pass {example}."
        )
    return value


def check_members(method: AbstractMetaMethod, fit: Fit) -> None:
    """Raise a ValueError unless members are of the kind and scale of the calibrator inside."""
    for i, member in enumerate(fit.members):
        if type(member) is not type(method.template):
            wanted = type(method.template).__name__
            raise ValueError(f"`calibrators_[{i}]` must be a {wanted}; got {member!r:.60}")
        if member.input_scale != method.input_scale:
            raise ValueError(
                f"`calibrators_[{i}]` must have input_scale={method.input_scale!r}; got "
                f"{member.input_scale!r}"
            )


def check_same_columns(members: Iterable[AbstractCalibrator], fit: Fit, name: str) -> None:
    """Raise a ValueError unless members read the columns of the fit."""
    for member in members:
        for field, value in vars(member.fit_.columns).items():
            if field != "feature_names" and not np.array_equal(value, getattr(fit.columns, field)):
                raise ValueError(f"{name} another `{field}`")


def losses_of(fit: Fit, data: ArrayRows) -> FloatArray:
    """Log-loss (n,) of each row."""
    targets = None if data.targets is None else data.targets.T
    return log_losses(fit.predict(data).T, data.labels, targets)


def mean_of_members(outputs: Iterable[FloatArray]) -> FloatArray:
    """Average of probabilities (n, k); rows sum to one as exactly as they can."""
    total: FloatArray | None = None
    for output in outputs:
        total = output if total is None else np.add(total, output, out=total)
    assert total is not None
    total /= total.sum(axis=1, keepdims=True)
    return total
