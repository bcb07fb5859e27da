"""Rows are a source: what is done to a chunk of them, and how chunks add up.

Whatever reads rows says what to do with a chunk and gets the sum over all chunks. The source does
the rest: from arrays in memory or mapped from a file here, from the parts of a distributed table
elsewhere. Nothing of the length of the rows comes back unless it is the answer; what has to be kept
for the next pass, such as probabilities, is kept beside the chunk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._typing import FloatArray, IntArray

__all__ = [
    "AbstractChunkSource",
    "AbstractSums",
    "ArraySource",
    "Chunk",
    "Largest",
    "Reader",
    "Span",
    "clipped",
    "drop_zero_weight",
    "log_of_clip",
    "row_slices",
    "span_of",
]

# Elements of one chunk: 512 kB of float64, so that the passes over a chunk stay in the cache.
_CHUNK_ELEMENTS = 65_536
# With very many classes a chunk still has to have enough rows for the matrix product to pay.
_CHUNK_ROWS_AT_LEAST = 512
# Scores up to this size are computed once and kept; beyond it every pass reads the input again.
_CACHE_BYTES = 256 * 2**20
# Rows that are enough for a first guess, and by how much there must be more of them for it to pay.
_SUBSAMPLE_ROWS = 4096
_SUBSAMPLE_FACTOR = 4
_GOLDEN_SECTION = (5.0**0.5 - 1.0) / 2.0

_T = TypeVar("_T")
Reader = Callable[[npt.NDArray[Any]], FloatArray]
"""From raw rows (m, d) to scores (k, m) in an array of their own."""


def row_slices(shape: tuple[int, ...], chunk_rows: int | None = None) -> Iterator[slice]:
    """Slices that cut the rows of an array (n, k) into chunks of a size that suits the cache."""
    n_samples, n_classes = shape
    step = chunk_rows or max(_CHUNK_ROWS_AT_LEAST, _CHUNK_ELEMENTS // n_classes)
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


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows: scores (k, m), labels (m,) and normalised weights (m,).

    ``memo`` holds what passes have left here for those that follow; it is None for a chunk that is
    read anew at every pass. ``start`` is the number of the first row, counted from the first of the
    source: what is drawn at random for a row depends on it, and not on how rows are cut. Sources
    that do not count their rows leave it out.
    """

    scores: FloatArray
    labels: IntArray
    weight: FloatArray
    memo: dict[str, tuple[Hashable, Any]] | None = field(default=None, repr=False)
    start: int | None = None

    def once(self, slot: str, key: Hashable, make: Callable[[], _T]) -> _T:
        """What ``make`` returns, computed once for as long as ``key`` is the last in its slot."""
        if self.memo is None:
            return make()
        found = self.memo.get(slot)
        if found is None or found[0] != key:
            # Let go of the old value first: it may be as large as the new one.
            self.memo.pop(slot, None)
            found = self.memo[slot] = (key, make())
        value: _T = found[1]
        return value


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

    @abstractmethod
    def subsample(self) -> "AbstractChunkSource | None":
        """Some thousands of these rows, enough for a first guess; None if there are few."""

    @cached_property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        found = self.fold(span_of)
        return found.low, found.high


@dataclass
class Largest:
    """The largest of some numbers; the sum of two is that of all."""

    value: float

    def __iadd__(self, other: Self) -> Self:
        self.value = max(self.value, other.value)
        return self


@dataclass
class Span:
    """Smallest and largest of some scores; the sum of two is that of all."""

    low: float
    high: float

    def __iadd__(self, other: Self) -> Self:
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        return self


def span_of(chunk: Chunk) -> Span:
    """Smallest and largest score of a chunk."""
    return Span(float(chunk.scores.min()), float(chunk.scores.max()))


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
    """

    inputs: npt.NDArray[Any]
    labels: IntArray
    sample_weight: FloatArray | None
    read: Reader
    picked: IntArray | None = None
    chunk_rows: int | None = None
    cache_bytes: int | None = None

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
        if self.sample_weight is None:
            return float(len(self.labels))
        return float(self.sample_weight.sum())

    def __iter__(self) -> Iterator[Chunk]:
        """One chunk after another, as a fold meets them."""
        return self._read_all() if self._kept is None else iter(self._kept)

    def fold(self, function: Callable[[Chunk], _T]) -> _T:
        """The sum of what ``function`` makes of each chunk, one after another."""
        chunks = iter(self)
        total: Any = function(next(chunks))
        for chunk in chunks:
            total += function(chunk)
        result: _T = total
        return result

    def subsample(self) -> "ArraySource | None":
        """One row from each of some thousands of equal stretches."""
        n_samples, weight = self.n_samples, self.sample_weight
        if n_samples < _SUBSAMPLE_FACTOR * _SUBSAMPLE_ROWS:
            return None
        few = _spread(n_samples, _SUBSAMPLE_ROWS)
        if weight is not None and not weight[few].any():
            return None
        return replace(
            self,
            labels=self.labels[few],
            sample_weight=None if weight is None else weight[few],
            picked=few if self.picked is None else self.picked[few],
        )

    @cached_property
    def _kept(self) -> tuple[Chunk, ...] | None:
        size = self.n_samples * self.n_classes * np.dtype(np.float64).itemsize
        if size > (_CACHE_BYTES if self.cache_bytes is None else self.cache_bytes):
            return None
        return tuple(replace(chunk, memo={}) for chunk in self._read_all())

    def _read_all(self) -> Iterator[Chunk]:
        for part in row_slices((self.n_samples, self.n_classes), self.chunk_rows):
            rows = part if self.picked is None else self.picked[part]
            weight = None if self.sample_weight is None else self.sample_weight[part]
            inputs, labels, weight = drop_zero_weight(self.inputs[rows], self.labels[part], weight)
            if len(labels):
                total = self.total_weight
                share = np.full(len(labels), 1.0 / total) if weight is None else weight / total
                yield Chunk(self.read(inputs), labels, share, start=part.start)


def _spread(n_samples: int, n_picked: int) -> IntArray:
    """Indices of rows spread evenly, one from each of equal stretches.

    The place within a stretch moves by the golden section, so that a period in the rows, such as
    classes that take turns, does not repeat in those picked.
    """
    steps = np.arange(n_picked)
    places = (steps + (steps * _GOLDEN_SECTION) % 1.0) * (n_samples / n_picked)
    return np.minimum(places.astype(np.int64), n_samples - 1)
