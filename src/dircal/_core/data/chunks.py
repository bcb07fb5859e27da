"""Rows are a source: what is done to a chunk of them, and how chunks add up.

Whatever reads rows says what to do with a chunk and gets the sum over all chunks. The source does
the rest: from arrays in memory or mapped from a file here, from the parts of a distributed table
elsewhere. Nothing of the length of the rows comes back unless it is the answer; what has to be kept
for the next pass, such as probabilities, is kept beside the chunk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from operator import iadd
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.limits import DATA_LIMITS
from dircal._typing import AnyFloatArray, FloatArray, IntArray

__all__ = [
    "AbstractChunkSource",
    "AbstractSums",
    "Chunk",
    "Largest",
    "Memo",
    "Reader",
    "SeveralSums",
    "Survey",
    "Together",
    "clipped",
    "drop_zero_weight",
    "log_of_clip",
    "once",
    "row_slices",
    "span_of",
    "survey_of",
]


_T = TypeVar("_T")
_Part = TypeVar("_Part")
Reader = Callable[[npt.NDArray[Any]], FloatArray]
"""From raw rows (m, d) to scores (k, m) in an array of their own."""


def row_slices(shape: tuple[int, ...], chunk_rows: int | None = None) -> Iterator[slice]:
    """Slices that cut the rows of an array (n, k) into chunks of a size that suits the cache."""
    limits = DATA_LIMITS.get()
    n_samples, n_classes = shape
    step = chunk_rows or max(limits.min_chunk_rows, limits.chunk_elements // n_classes)
    for start in range(0, n_samples, step):
        yield slice(start, min(start + step, n_samples))


def drop_zero_weight(
    inputs: npt.NDArray[Any], labels: IntArray, sample_weight: FloatArray | None
) -> tuple[npt.NDArray[Any], IntArray, FloatArray | None]:
    """Rows without those of weight zero."""
    if sample_weight is None or sample_weight.all():
        return inputs, labels, sample_weight
    used = sample_weight > 0
    return inputs[used], labels[used], sample_weight[used]


def log_of_clip(clip: float) -> float:
    """Logarithm of a floor of probabilities; zero stands for none."""
    return float(np.log(clip)) if clip > 0.0 else -np.inf


def clipped(scores: FloatArray, log_clip: float) -> FloatArray:
    """``scores`` raised to ``log_clip``; the same array where there is none."""
    return scores if log_clip == -np.inf else np.maximum(scores, log_clip)


Memo = dict[str, tuple[Hashable, Any]]
"""What passes leave for those that follow: in each slot a key and its value."""


def once(memo: Memo | None, slot: str, key: Hashable, make: Callable[[], _T]) -> _T:
    """What ``make`` returns, computed once for as long as ``key`` is the last in its slot."""
    if memo is None:
        return make()
    found = memo.get(slot)
    if found is None or found[0] != key:
        # Let go of the old value first: it may be as large as the new one.
        memo.pop(slot, None)
        found = memo[slot] = (key, make())
    value: _T = found[1]
    return value


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows: scores (k, m), labels (m,) and normalised weights (m,).

    Where labels are soft, ``targets`` (k, m) say how probable each class is as the label of a row,
    and ``labels`` is the most probable one; the targets of a row sum to one. What is linear in the
    label asks `at_targets` and `less_targets`, which know both kinds.

    ``memo`` holds what passes have left here for those that follow; it is None for a chunk that is
    read anew at every pass. ``start`` is the number of the first row, counted from the first of the
    source: what is drawn at random for a row depends on it, and not on how rows are cut. Sources
    that do not count their rows leave it out.
    """

    scores: FloatArray
    labels: IntArray
    weight: FloatArray
    memo: Memo | None = field(default=None, repr=False)
    start: int | None = None
    targets: FloatArray | None = field(default=None, repr=False)

    def at_targets(self, block: AnyFloatArray) -> AnyFloatArray:
        """What ``block`` (k, m) holds at the label of each row (m,), or its mean over soft ones."""
        if self.targets is None:
            return block[self.labels, np.arange(len(self.labels))]
        found: AnyFloatArray = np.einsum("jm,jm->m", self.targets, block)
        return found

    def less_targets(self, block: AnyFloatArray) -> None:
        """Take the one-hot labels, or the soft ones, from ``block`` (k, m), in place."""
        if self.targets is None:
            block[self.labels, np.arange(len(self.labels))] -= 1.0
        else:
            block -= self.targets

    @property
    def label_weight(self) -> FloatArray:
        """Weight of each label that rows may have: one a row (m,), or where soft, k (k m,)."""
        return self.weight if self.targets is None else (self.targets * self.weight).ravel()

    def as_hard(self) -> "Chunk":
        """The same with one label for each row.

        A soft row becomes one for each class that it may be of, with that part of its weight.
        """
        return self if self.targets is None else self._hard(*np.nonzero(self.targets))

    def hard_pieces(self) -> Iterator["Chunk"]:
        """The same in pieces that have no more rows than the chunk."""
        if self.targets is None:
            yield self
            return
        labels, rows = np.nonzero(self.targets)
        step = len(self.labels)
        for start in range(0, len(rows), step):
            yield self._hard(labels[start : start + step], rows[start : start + step])

    def _hard(self, labels: IntArray, rows: IntArray) -> "Chunk":
        assert self.targets is not None
        weight = self.weight[rows] * self.targets[labels, rows]
        return Chunk(self.scores[:, rows], labels, weight)


@dataclass
class AbstractSums:
    """Several sums over rows, added field by field and in place; subclasses say which."""

    def __iadd__(self, other: Self) -> Self:
        for each in fields(self):
            total = getattr(self, each.name)
            total += getattr(other, each.name)
            setattr(self, each.name, total)
        return self


class AbstractChunkSource(ABC):
    """Labelled rows of scores that can be folded."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes k."""

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of rows, those of weight zero included."""

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """Sum of the sample weights: what the documentation calls n."""

    @property
    def is_weighted(self) -> bool:
        """Whether rows may differ in weight."""
        return True

    @abstractmethod
    def fold(self, function: Callable[[Chunk], _T]) -> _T:
        """The sum, by ``+=``, of what ``function`` makes of each chunk.

        Its results are its own: the first is added to in place.
        """

    @property
    def is_in_memory(self) -> bool:
        """Whether the rows are arrays of this process."""
        return False

    def kept(self) -> "AbstractChunkSource":
        """The same rows, whose chunks are kept as far as there is room for them."""
        return self

    def fresh(self) -> "AbstractChunkSource":
        """The same rows, without what passes have kept of them."""
        return self

    def fold_with(
        self,
        others: "Sequence[AbstractChunkSource]",
        function: Callable[[tuple[Chunk, ...]], _T],
        chunk_rows: int | None = None,
    ) -> _T:
        """Sum a function of chunks of the same rows, one of this source and of each other.

        Sources that can cut chunks of ``chunk_rows`` rows do.
        """
        if others:
            raise ValueError(
                "Several predictions of the same rows were given, of which some are in memory and "
                "others are read in parts. Pass all of them in the same way."
            )
        return self.fold(partial(_alone, function))

    @abstractmethod
    def subsample(self) -> "AbstractChunkSource | None":
        """Some of these rows, enough for a first guess; None if there are few.

        How many they are, and which, depends on the number of rows and classes alone: see
        `subsample_size` and `spread_rows`. A source without random access finds them in one pass.
        """

    @cached_property
    def few(self) -> "AbstractChunkSource | None":
        """The subsample, which is taken once."""
        return self.subsample()

    @cached_property
    def survey(self) -> "Survey":
        """What one pass tells of all rows; it is made once."""
        return self.fold(partial(survey_of, self.n_classes))

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        opposite_of_low, high = self.survey.span.value
        return -float(opposite_of_low), float(high)


def _alone(function: Callable[[tuple[Chunk, ...]], _T], chunk: Chunk) -> _T:
    return function((chunk,))


@dataclass
class SeveralSums:
    """Several sums over the same rows, each added to its own."""

    values: list[Any]

    def __iadd__(self, other: Self) -> Self:
        self.values = list(map(iadd, self.values, other.values))
        return self


@dataclass(frozen=True)
class Together(Generic[_Part]):
    """Several functions of the same rows as one, whose results are added each to its own."""

    functions: tuple[Callable[[_Part], Any], ...]

    def __call__(self, part: _Part) -> SeveralSums:
        return SeveralSums([function(part) for function in self.functions])


@dataclass
class Largest:
    """The largest of some numbers, or of each entry of some arrays."""

    value: Any

    def __iadd__(self, other: Self) -> Self:
        self.value = np.maximum(self.value, other.value)
        return self


def span_of(chunk: Chunk) -> Largest:
    """Return the smallest score of a chunk, with the opposite sign, and the largest."""
    return Largest(np.array([-chunk.scores.min(), chunk.scores.max()], np.float64))


@dataclass
class Survey(AbstractSums):
    """What every fit asks of its rows, from one pass.

    ``span`` is the result of `span_of`, ``n_rows`` are those of positive weight,
    ``class_weights`` (k,) their weights by class, which sum to one, and ``checksum`` is a sum in
    which every score and label has its own part.
    """

    span: Largest
    n_rows: int
    class_weights: FloatArray
    checksum: float


def survey_of(n_classes: int, chunk: Chunk) -> Survey:
    """The survey of a chunk."""
    scores, labels, weight = chunk.scores, chunk.labels, chunk.weight
    if chunk.targets is None:
        weights = np.bincount(labels, weight, n_classes)[:n_classes].astype(np.float64, copy=False)
        of_labels: AnyFloatArray | IntArray = labels
    else:
        weights = chunk.targets @ weight
        of_labels = np.arange(n_classes) @ chunk.targets
    of_rows = np.arange(1.0, 1.0 + len(scores)) @ scores + of_labels
    return Survey(span_of(chunk), len(labels), weights, float(of_rows @ weight))
