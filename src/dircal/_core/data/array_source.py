"""Arrays in memory, or mapped from a file, as a source of chunks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import iadd
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.chunks import (
    AbstractChunkSource,
    Chunk,
    Reader,
    drop_zero_weight,
    row_slices,
)
from dircal._core.data.limits import DATA_LIMITS
from dircal._core.data.subsample import spread_rows, subsample_size
from dircal._typing import FloatArray, IntArray

__all__ = ["ArraySource"]


_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class ArraySource(AbstractChunkSource):
    """Arrays in memory or mapped from a file, as a source of chunks.

    Parameters
    ----------
    inputs : array (n, d)
        Probabilities or logits as given, of any float type; never copied as a whole.
    labels : array (r,)
        Class indices 0..k-1.
    sample_weight : array (r,) or None
        Not negative; rows of weight zero are passed over.
    read : callable
        Makes scores (k, m) of rows of the inputs (m, d).
    picked : array (r,) or None
        Rows of ``inputs`` that the labels belong to; None stands for all of them.
    chunk_rows : int or None
        Rows in a chunk; None chooses.
    cache_bytes : int or None
        Scores up to this size are read once and kept for the passes that follow; None chooses.
    weight_of_all : float or None
        Sum of the weights that those of chunks are divided by, where these rows are part of more;
        None stands for their own.
    targets : array (r, k) or None
        How probable each class is as the label of a row, where labels are soft.
    """

    inputs: npt.NDArray[Any]
    labels: IntArray
    sample_weight: FloatArray | None
    read: Reader
    picked: IntArray | None = None
    chunk_rows: int | None = None
    cache_bytes: int | None = None
    weight_of_all: float | None = None
    targets: FloatArray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.inputs.shape[1])

    @property
    def is_weighted(self) -> bool:
        """Whether there are weights."""
        return self.sample_weight is not None

    @property
    def n_samples(self) -> int:
        """Number of rows, those of weight zero included."""
        return len(self.labels)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        if self.weight_of_all is not None:
            return self.weight_of_all
        if self.sample_weight is None:
            return float(len(self.labels))
        return float(self.sample_weight.sum())

    def __iter__(self) -> Iterator[Chunk]:
        """One chunk after another, as a fold meets them."""
        return self.read_chunks() if self._kept is None else iter(self._kept)

    def fold(self, function: Callable[[Chunk], _T]) -> _T:
        """The sum of what ``function`` makes of each chunk, one after another."""
        chunks = iter(self)
        total: Any = function(next(chunks))
        for chunk in chunks:
            total += function(chunk)
        result: _T = total
        return result

    @property
    def is_in_memory(self) -> bool:
        """True: the rows are arrays of this process."""
        return True

    def kept(self) -> "ArraySource":
        """The same rows, whose chunks are kept as far as there is room for them."""
        return replace(self, cache_bytes=None)

    def fresh(self) -> "ArraySource":
        """The same rows, without what passes have kept of them."""
        return replace(self)

    def fold_with(
        self,
        others: Sequence[AbstractChunkSource],
        function: Callable[[tuple[Chunk, ...]], _T],
        chunk_rows: int | None = None,
    ) -> _T:
        """Sum a function of chunks of the same rows, one of this source and of each other."""
        arrays = [one for one in (self, *others) if isinstance(one, ArraySource)]
        if len(arrays) <= len(others):
            return super().fold_with(others, function, chunk_rows)
        recut = [replace(one, chunk_rows=chunk_rows, cache_bytes=0) for one in arrays]
        return reduce(iadd, map(function, zip(*recut, strict=True)))

    def subsample(self) -> "ArraySource | None":
        """One row from each of many equal stretches."""
        weight, size = self.sample_weight, subsample_size(self.n_samples, self.n_classes)
        if size is None:
            return None
        few = spread_rows(self.n_samples, size)
        if weight is not None and not weight[few].any():
            return None
        return replace(
            self,
            labels=self.labels[few],
            sample_weight=None if weight is None else weight[few],
            picked=few if self.picked is None else self.picked[few],
            targets=None if self.targets is None else self.targets[few],
        )

    @cached_property
    def _kept(self) -> tuple[Chunk, ...] | None:
        size = self.n_samples * self.n_classes * np.dtype(np.float64).itemsize
        if size > (DATA_LIMITS.get().cache_bytes if self.cache_bytes is None else self.cache_bytes):
            return None
        return tuple(replace(chunk, memo={}) for chunk in self.read_chunks())

    def read_chunks(self) -> Iterator[Chunk]:
        """Chunk after chunk, read anew."""
        for part in row_slices((self.n_samples, self.n_classes), self.chunk_rows):
            rows = part if self.picked is None else self.picked[part]
            weight = None if self.sample_weight is None else self.sample_weight[part]
            inputs, labels, weight = drop_zero_weight(self.inputs[rows], self.labels[part], weight)
            if len(labels):
                total = self.total_weight
                share = np.full(len(labels), 1.0 / total) if weight is None else weight / total
                targets = None if self.targets is None else self._targets_of(part)
                yield Chunk(self.read(inputs), labels, share, start=part.start, targets=targets)

    def _targets_of(self, part: slice) -> FloatArray:
        """Soft labels (k, m) of the rows of a chunk that have weight."""
        assert self.targets is not None
        targets = self.targets[part]
        if self.sample_weight is not None:
            targets = targets[self.sample_weight[part] > 0]
        return np.ascontiguousarray(targets.T)
