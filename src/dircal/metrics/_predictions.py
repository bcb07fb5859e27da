"""Checked predictions and their true labels: what every measure, test and picture starts from."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import row_slices
from dircal._core.data.simplex import ROUNDING, normalise_beyond_rounding
from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.metrics._blocks import Block
from dircal.metrics._rows import AbstractRows
from dircal.validation import LabelledScores, check_predictions, show

__all__ = ["Predictions"]


@dataclass(frozen=True, eq=False)
class Predictions(AbstractRows[Block]):
    """Rows that have passed the door; those of weight zero are left out when run over.

    Make it with `check`, or with `of_checked` from what the door gave before.

    Parameters
    ----------
    probabilities : array (n, k)
        As given, of any float type and possibly mapped from a file.
    labels : array (n,)
        Position of the true class among the sorted ones.
    sample_weight : array (n,) or None
        Weight of each row.
    classes : array (k,)
        The labels, sorted.
    column_classes : array (k,)
        Label of each column of the probabilities.
    held : bool
        Whether blocks are read once and kept, with what was computed of them.
    """

    probabilities: npt.NDArray[Any]
    labels: IntArray
    sample_weight: FloatArray | None
    classes: LabelArray
    column_classes: LabelArray
    held: bool = False

    @classmethod
    def check(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        classes: Iterable[Any] | None = None,
        *,
        name: str = "y_prob",
        from_a_map: bool = False,
    ) -> Self:
        """Through the door: the arguments of a measure, or what a map made of them."""
        data = check_predictions(
            y_true, y_prob, sample_weight, classes, name=name, from_a_map=from_a_map
        )
        return cls.of_checked(data)

    @classmethod
    def of_checked(cls, data: LabelledScores) -> Self:
        """Probabilities that have passed the door."""
        return cls(data.inputs, data.labels, data.sample_weight, data.classes, data.column_classes)

    def with_probabilities(self, proba: FloatArray) -> Self:
        """Other probabilities (n, k) of the same rows, as a map gives them: columns are sorted."""
        return replace(self, probabilities=proba, column_classes=self.classes)

    def with_weight(self, sample_weight: FloatArray) -> Self:
        """The same rows with other weights, as draws of rows have them."""
        return replace(self, sample_weight=sample_weight)

    def hold(self) -> Self:
        """The same rows, for those who run over them many times and have the memory."""
        return replace(self, held=True)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the probabilities as they were given."""
        return self.probabilities.dtype

    @property
    def n_samples(self) -> int:
        """Number of rows n, those of weight zero included."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return len(self.classes)

    @property
    def y_true(self) -> LabelArray:
        """True label of each row (n,)."""
        labels: LabelArray = self.classes[self.labels]
        return labels

    def position(self, label: object) -> int:
        """Where a class is among the sorted ones."""
        found = np.flatnonzero([one == label for one in self.classes.tolist()])
        if len(found) != 1:
            raise ValueError(
                f"`label` must be one of the classes {show(self.classes)}; got {label!r}."
            )
        return int(found[0])

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks) if self.held else self._read()

    def row_values(self, of_rows: Callable[[Block], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """One number of each row with weight (n,)."""
        return np.concatenate([of_rows(block) for block in self])

    def mean(self, of_rows: Callable[[Block], npt.NDArray[Any]]) -> float:
        """Weighted mean of one number of each row."""
        total = weight = 0.0
        for block in self:
            values = of_rows(block)
            if block.weight is None:
                total, weight = total + float(values.sum()), weight + len(values)
            else:
                total, weight = total + float(block.weight @ values), weight + block.weight.sum()
        return float(total / weight)

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        return tuple(self._read())

    def _read(self) -> Iterator[Block]:
        rounding, order = self._rounding, self._column_order
        for part in row_slices(self.probabilities.shape):
            inputs, labels, weight = self.probabilities[part], self.labels[part], None
            if self.sample_weight is not None:
                weight = self.sample_weight[part]
                if not weight.all():
                    used = weight > 0
                    inputs, labels, weight = inputs[used], labels[used], weight[used]
            if len(labels) == 0:
                continue
            turned = inputs.T if order is None else inputs.T[order]
            proba = np.array(turned, dtype=np.float64, order="C")
            proba = normalise_beyond_rounding(proba, rounding)
            # A row that is left as given may exceed one by a rounding error.
            yield Block(np.minimum(proba, 1.0, out=proba), labels, weight)

    @property
    def _rounding(self) -> float:
        """By how much a row may miss the sum of one and be left as it was given."""
        eps = float(np.finfo(self.dtype if self.dtype.kind == "f" else np.float64).eps)
        # Half precision may be coarser than what counts as rounding elsewhere.
        return min(4.0 * eps * float(np.sqrt(self.n_classes)), max(eps, ROUNDING))

    @property
    def _column_order(self) -> IntArray | None:
        """Column of each class; None where they are in the order of the classes."""
        order = np.argsort(self.column_classes)
        return None if np.array_equal(order, np.arange(self.n_classes)) else order
