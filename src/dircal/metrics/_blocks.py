"""Some rows at a time: what every measure is written in."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import row_slices
from dircal._typing import FloatArray, IntArray

__all__ = ["AnyBlock", "Block", "ConfidenceBlock", "ConfidenceRows", "RowBlocks"]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: probabilities (k, m) in the order of the classes, labels (m,), weights (m,).

    What several measures need is computed at the first call and lives as long as the block.
    """

    proba: FloatArray
    labels: IntArray
    weight: FloatArray | None

    @cached_property
    def decisions(self) -> IntArray:
        """The most probable class of each row (m,); the first of equals."""
        leaders: IntArray = self.proba.argmax(axis=0)
        return leaders

    @cached_property
    def confidence(self) -> FloatArray:
        """The largest probability of each row (m,)."""
        return self.proba[self.decisions, np.arange(len(self.labels))]

    @cached_property
    def hits(self) -> npt.NDArray[np.bool_]:
        """Whether the most probable class is the label (m,)."""
        hits: npt.NDArray[np.bool_] = self.decisions == self.labels
        return hits


@dataclass(frozen=True, eq=False)
class ConfidenceBlock:
    """Some rows of which only the largest probability is known, and whether it was right."""

    confidence: FloatArray
    hits: npt.NDArray[np.bool_]
    weight: FloatArray | None


AnyBlock = TypeVar("AnyBlock", covariant=True)


class RowBlocks(Protocol[AnyBlock]):
    """Checked rows that can be run over, and the type of their numbers as they were given."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""

    def __iter__(self) -> Iterator[AnyBlock]:
        """One block after another; rows of weight zero are left out."""


@dataclass(frozen=True, eq=False)
class ConfidenceRows:
    """Checked confidences (n,), whether they were right, and weights (n,)."""

    values: npt.NDArray[Any]
    right: npt.NDArray[np.bool_]
    sample_weight: FloatArray | None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the confidences."""
        return self.values.dtype

    def __iter__(self) -> Iterator[ConfidenceBlock]:
        for part in row_slices((len(self.values), 1)):
            # Confidences that were rounded may exceed one by a hair.
            confidence = np.minimum(self.values[part].astype(np.float64), 1.0)
            hits, weight = self.right[part], None
            if self.sample_weight is not None:
                weight = self.sample_weight[part]
                used = weight > 0
                confidence, hits, weight = confidence[used], hits[used], weight[used]
            yield ConfidenceBlock(confidence, hits, weight)
