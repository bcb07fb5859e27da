"""What calibrators that hold another calibrator share."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dircal._core.data.losses import log_losses
from dircal._typing import FloatArray, InputScale
from dircal.calibrators import AbstractCalibrator
from dircal.maps import CalibrationMap
from dircal.tables import ArrayRows

__all__ = [
    "AbstractMetaCalibrator",
    "check_calibrator",
    "check_members",
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


class AbstractMetaCalibrator(AbstractCalibrator):
    """A calibrator made of others of one kind; it reads the scale they read, its map is theirs."""

    calibrator: Any
    calibrators_: list[Any]

    def _members(self) -> Sequence[AbstractCalibrator]:
        return self.calibrators_

    @property
    def input_scale(self) -> InputScale:  # type: ignore[override]
        """Scale that the calibrator inside reads."""
        scale: InputScale = check_calibrator(self.calibrator).input_scale
        return scale

    @property
    @abstractmethod
    def map_(self) -> CalibrationMap:  # type: ignore[override]
        """The fitted map, made of those of the members."""


def check_calibrator(value: object, argument: str = "calibrator") -> AbstractCalibrator:
    """Refuse what is no calibrator of this package."""
    if not isinstance(value, AbstractCalibrator):
        what = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        example = "for example DirichletCalibrator()"
        if isinstance(value, str):
            example = _NAMED_BY_SCIKIT_LEARN.get(value, example)
        raise ValueError(
            f"`{argument}` must be a calibrator of dircal; got {what}. Pass {example}."
        )
    return value


def check_members(meta: Any) -> None:
    """Members are of the kind that the meta-estimator was told, and read the same scale."""
    for i, member in enumerate(meta.calibrators_):
        if type(member) is not type(meta.calibrator):
            wanted = type(meta.calibrator).__name__
            raise ValueError(f"`calibrators_[{i}]` must be a {wanted}; got {member!r:.60}")
        if member.input_scale != meta.input_scale:
            raise ValueError(
                f"`calibrators_[{i}]` must have input_scale={meta.input_scale!r}; got "
                f"{member.input_scale!r}"
            )


def losses_of(fitted: AbstractCalibrator, data: ArrayRows) -> FloatArray:
    """Log-loss (n,) of each row."""
    targets = None if data.targets is None else data.targets.T
    return log_losses(fitted._predict_checked(data).T, data.labels, targets)


def mean_of_members(outputs: Iterable[FloatArray]) -> FloatArray:
    """Average of probabilities (n, k); rows sum to one as exactly as they can."""
    total: FloatArray | None = None
    for output in outputs:
        total = output if total is None else np.add(total, output, out=total)
    assert total is not None
    total /= total.sum(axis=1, keepdims=True)
    return total
