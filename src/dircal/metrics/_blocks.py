"""Some rows at a time: what every measure is written in."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import Chunk
from dircal._typing import FloatArray, IntArray
from dircal.tables import reject_soft_labels

__all__ = ["Block", "ConfidenceBlock"]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: probabilities (k, m) in the order of the classes, labels (m,), weights (m,).

    What several measures need is computed at the first call and lives as long as the block.
    ``weight`` is None where all rows count as one; ``start`` is the number of the first row. Where
    labels are soft, ``targets`` (k, m) say how probable each class is as the label of a row: what
    is a mean over labels asks for them, and whatever looks at one label for each row is told that
    there is none.
    """

    proba: FloatArray
    label_or_mode: IntArray
    weight: FloatArray | None
    start: int | None = None
    targets: FloatArray | None = None

    @classmethod
    def of_chunk(cls, chunk: Chunk, weight: FloatArray | None) -> Self:
        """A chunk of a source of probabilities."""
        return cls(chunk.scores, chunk.labels, weight, chunk.start, chunk.targets)

    @property
    def labels(self) -> IntArray:
        """The label of each row (m,), where there is one."""
        if self.targets is not None:
            reject_soft_labels()
        return self.label_or_mode

    @cached_property
    def decisions(self) -> IntArray:
        """The most probable class of each row (m,); the first of equals."""
        leaders: IntArray = self.proba.argmax(axis=0)
        return leaders

    @cached_property
    def confidence(self) -> FloatArray:
        """The largest probability of each row (m,)."""
        return self.proba[self.decisions, np.arange(len(self.decisions))]

    @cached_property
    def hits(self) -> npt.NDArray[Any]:
        """Whether the most probable class is the label (m,), or how probably it is."""
        if self.targets is not None:
            return self.targets[self.decisions, np.arange(len(self.decisions))]
        hits: npt.NDArray[np.bool_] = self.decisions == self.label_or_mode
        return hits


@dataclass(frozen=True, eq=False)
class ConfidenceBlock:
    """Some rows of which only the largest probability is known, and whether it was right."""

    confidence: FloatArray
    hits: npt.NDArray[Any]
    weight: FloatArray | None

    @classmethod
    def of_chunk(cls, chunk: Chunk, weight: FloatArray | None) -> Self:
        """A chunk of a source with one column, whose labels are one where it was right."""
        return cls(chunk.scores[0], chunk.labels == 1, weight)
