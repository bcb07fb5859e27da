"""What calibrators that hold another calibrator share."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dircal._core.data.losses import log_losses
from dircal._typing import FloatArray, InputScale, IntArray
from dircal.calibrators._base import AbstractCalibrator
from dircal.validation import LabelledScores

__all__ = ["AbstractHolder", "check_calibrator", "losses_of", "mean_of_members", "take_rows"]


class AbstractHolder(AbstractCalibrator):
    """A calibrator made of others of one kind; it reads what they read."""

    calibrator: Any

    @property
    def input_scale(self) -> InputScale:
        """Scale that the calibrator inside reads."""
        scale: InputScale = check_calibrator(self.calibrator).input_scale
        return scale

    @property
    def classes(self) -> Iterable[Any] | None:
        """Label of each column, as the calibrator inside was told."""
        classes: Iterable[Any] | None = check_calibrator(self.calibrator).classes
        return classes


def check_calibrator(value: object, argument: str = "calibrator") -> AbstractCalibrator:
    """Refuse what is no calibrator of this package."""
    if not isinstance(value, AbstractCalibrator):
        what = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise ValueError(
            f"`{argument}` must be a calibrator of dircal; got {what}. "
            "Pass for example DirichletCalibrator()."
        )
    return value


def take_rows(data: LabelledScores, rows: IntArray | slice) -> LabelledScores:
    """Some of the rows, in the order given; the classes stay all of them."""
    weight = data.sample_weight
    return replace(
        data,
        inputs=data.inputs[rows],
        labels=data.labels[rows],
        sample_weight=None if weight is None else weight[rows],
    )


def losses_of(fitted: AbstractCalibrator, data: LabelledScores) -> FloatArray:
    """Log-loss (n,) of each row."""
    return log_losses(fitted._apply(data.inputs, data.column_classes).T, data.labels)


def mean_of_members(outputs: Iterable[FloatArray]) -> FloatArray:
    """Average of probabilities (n, k); rows sum to one as exactly as they can."""
    total: FloatArray | None = None
    for output in outputs:
        total = output if total is None else np.add(total, output, out=total)
    assert total is not None
    total /= total.sum(axis=1, keepdims=True)
    return total
