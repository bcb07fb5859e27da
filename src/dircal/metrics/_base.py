"""Predictions and their true labels, read a block at a time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import drop_zero_weight, row_slices
from dircal._core.data.simplex import ROUNDING, normalise_beyond_rounding
from dircal._typing import ArrayLike, FloatArray, IntArray
from dircal.validation import LabelledScores, check_predictions, show

__all__ = ["Block", "Predictions", "read_predictions"]


@dataclass(frozen=True)
class Block:
    """Some rows: probabilities (k, m) in the order of the classes, labels (m,), weights (m,)."""

    proba: FloatArray
    labels: IntArray
    weight: FloatArray | None


@dataclass(frozen=True)
class Predictions:
    """Checked predictions that can be run over; rows of weight zero are passed over."""

    data: LabelledScores

    def __iter__(self) -> Iterator[Block]:
        data = self.data
        inputs_ = data.inputs
        for part in row_slices(data.shape):
            weight = None if data.sample_weight is None else data.sample_weight[part]
            inputs, labels, weight = drop_zero_weight(inputs_[part], data.labels[part], weight)
            if len(labels):
                proba = self._read(inputs)
                # A row that is left as given may exceed one by a rounding error.
                yield Block(np.minimum(proba, 1.0, out=proba), labels, weight)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.data.classes)

    def position(self, label: object) -> int:
        """Where a class is among the sorted ones."""
        known = self.data.classes
        found = np.flatnonzero([one == label for one in known.tolist()])
        if len(found) != 1:
            raise ValueError(f"`label` must be one of the classes {show(known)}; got {label!r}.")
        return int(found[0])

    def _read(self, inputs: npt.NDArray[Any]) -> FloatArray:
        dtype = inputs.dtype
        eps = float(np.finfo(dtype if dtype.kind == "f" else np.float64).eps)
        # Half precision may be coarser than what counts as rounding elsewhere.
        rounding = min(4.0 * eps * self.n_classes**0.5, max(eps, ROUNDING))
        order = np.argsort(self.data.column_classes)
        in_order = np.array_equal(order, np.arange(self.n_classes))
        turned = inputs.T if in_order else inputs.T[order]
        return normalise_beyond_rounding(np.array(turned, dtype=np.float64, order="C"), rounding)

    def mean(self, losses: Callable[[FloatArray, IntArray], npt.NDArray[Any]]) -> float:
        """Weighted mean of what each row loses."""
        total = weight = 0.0
        for block in self:
            lost = losses(block.proba, block.labels)
            if block.weight is None:
                total, weight = total + float(lost.sum()), weight + len(lost)
            else:
                total, weight = total + float(block.weight @ lost), weight + block.weight.sum()
        return float(total / weight)


def read_predictions(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: Iterable[Any] | None,
) -> Predictions:
    """Check the arguments of a measure."""
    return Predictions(check_predictions(y_true, y_prob, sample_weight, classes))
