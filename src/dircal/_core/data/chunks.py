"""The fitting rows, read a chunk at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import AnyFloatArray, FloatArray, IntArray

__all__ = ["Chunk", "Reader", "Rows", "Source", "log_of_floor", "row_slices", "used_part"]

# Elements of one chunk: 512 kB of float64, so that the passes over a chunk stay in the cache.
_CHUNK_ELEMENTS = 65_536
# With very many classes a chunk still has to have enough rows for the matrix product to pay.
_CHUNK_ROWS_AT_LEAST = 512
# Scores up to this size are computed once and kept; beyond it every pass reads the input again.
_CACHE_BYTES = 256 * 2**20
# Rows that are enough for a first guess, and by how much there must be more of them for it to pay.
_THIN_ROWS = 4096
_THIN_FACTOR = 4
# Scores beyond this size leave single precision too few digits for what is small beside them.
_LARGE_SCORE = 1e3
_GOLDEN_SECTION = (5.0**0.5 - 1.0) / 2.0


def row_slices(shape: tuple[int, ...], chunk_rows: int | None = None) -> Iterator[slice]:
    """Slices that cut the rows of an array (n, k) into chunks of a size that suits the cache."""
    n_samples, n_classes = shape
    step = chunk_rows or max(_CHUNK_ROWS_AT_LEAST, _CHUNK_ELEMENTS // n_classes)
    for start in range(0, n_samples, step):
        yield slice(start, min(start + step, n_samples))


def used_part(
    inputs: npt.NDArray[Any], labels: IntArray, sample_weight: FloatArray | None, part: slice
) -> tuple[npt.NDArray[Any], IntArray, FloatArray | None]:
    """Some of the rows, without those of weight zero."""
    if sample_weight is None:
        return inputs[part], labels[part], None
    weight = sample_weight[part]
    if weight.all():
        return inputs[part], labels[part], weight
    used = weight > 0
    return inputs[part][used], labels[part][used], weight[used]


@dataclass(frozen=True)
class Reader:
    """How raw rows become scores.

    Parameters
    ----------
    transform : callable
        Turns a float64 block (k, m) into scores, in place: `log_probability`, `log_softmax`, or
        nothing for logits as they are.
    columns : array (k,) or None
        Input column of each class; None where the columns are in the order of the classes.
    log_floor : float
        Scores below it are raised to it: the one rule for zeros.
    """

    transform: Callable[[FloatArray], FloatArray] | None
    columns: IntArray | None = None
    log_floor: float = -np.inf

    def __call__(self, inputs: npt.NDArray[Any]) -> FloatArray:
        """Scores (k, m) of ``inputs`` (m, k); the input is left alone."""
        turned = inputs.T if self.columns is None else inputs.T[self.columns]
        block = np.array(turned, dtype=np.float64, order="C")
        if self.transform is not None:
            block = self.transform(block)
        return floored(block, self.log_floor)


def log_of_floor(floor: float) -> float:
    """Logarithm of a floor of probabilities; zero stands for none."""
    return float(np.log(floor)) if floor > 0.0 else -np.inf


def floored(scores: FloatArray, log_floor: float) -> FloatArray:
    """``scores`` with a floor; the same array where there is none."""
    return scores if log_floor == -np.inf else np.maximum(scores, log_floor)


@dataclass(frozen=True)
class Chunk:
    """Some of the rows: scores (k, m), labels (m,) and their share of the weight (m,)."""

    scores: FloatArray
    labels: IntArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class Source:
    """Arrays in memory or mapped from a file, as a sequence of chunks.

    Parameters
    ----------
    inputs : array (n, k)
        Probabilities or logits as given, of any float type; never copied as a whole.
    labels : array (n,)
        Class indices 0..k-1.
    sample_weight : array (n,) or None
        Not negative; rows of weight zero are passed over.
    read : Reader
        Makes scores of inputs.
    chunk_rows : int or None
        Rows in a chunk; None chooses.
    """

    inputs: npt.NDArray[Any]
    labels: IntArray
    sample_weight: FloatArray | None
    read: Reader
    chunk_rows: int | None = None

    @cached_property
    def total_weight(self) -> float:
        """Sum of the sample weights: what the documentation calls n."""
        if self.sample_weight is None:
            return float(len(self.labels))
        return float(self.sample_weight.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.inputs.shape[1])

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self._kept) if self._kept is not None else self._read_all()

    @cached_property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        spans = [(float(chunk.scores.min()), float(chunk.scores.max())) for chunk in self]
        return min(low for low, _ in spans), max(high for _, high in spans)

    @property
    def in_memory(self) -> bool:
        """Whether the scores are computed once and kept."""
        return self.inputs.size * np.dtype(np.float64).itemsize <= _CACHE_BYTES

    def in_single(self) -> Iterator[Chunk]:
        """The same chunks with scores in single precision, for what need not be exact."""
        return iter(self._kept_in_single) if self._kept_in_single is not None else self._small()

    @cached_property
    def _kept(self) -> tuple[Chunk, ...] | None:
        return tuple(self._read_all()) if self.in_memory else None

    @cached_property
    def _kept_in_single(self) -> tuple[Chunk, ...] | None:
        return tuple(self._small()) if self.in_memory else None

    def _small(self) -> Iterator[Chunk]:
        for chunk in self:
            small: AnyFloatArray = chunk.scores.astype(np.float32)
            yield replace(chunk, scores=small)

    def _read_all(self) -> Iterator[Chunk]:
        for part in row_slices(self.inputs.shape, self.chunk_rows):
            inputs, labels, weight = used_part(self.inputs, self.labels, self.sample_weight, part)
            share = np.ones(len(labels)) if weight is None else weight
            if len(labels):
                yield Chunk(self.read(inputs), labels, share / self.total_weight)


@dataclass(frozen=True)
class Rows:
    """The rows of a fit: a source of chunks and the floor of its scores.

    The solvers know rows only through this class, so the same code fits an array, a memory map or
    the parts of a distributed table.
    """

    source: Source
    log_floor: float = -np.inf
    precision: type[np.floating[Any]] = np.float64

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return self.source.n_classes

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return self.source.total_weight

    @property
    def n_samples(self) -> int:
        """Number of rows, those of weight zero included."""
        return len(self.source.labels)

    @property
    def n_chunks(self) -> int:
        """How many chunks there are."""
        return len(list(row_slices(self.source.inputs.shape, self.source.chunk_rows)))

    @property
    def in_memory(self) -> bool:
        """Whether the scores are kept between passes."""
        return self.source.in_memory

    @property
    def largest(self) -> float:
        """The largest absolute score."""
        low, high = self.source.span
        return max(high, -max(low, self.log_floor))

    @property
    def fit_in_single(self) -> bool:
        """Whether single precision has digits enough for these scores."""
        return self.largest < _LARGE_SCORE

    def shares(self) -> FloatArray | None:
        """Share of each used row in the weight, in the order of the chunks; None if all alike."""
        if self.source.sample_weight is None:
            return None
        return np.concatenate([chunk.weight for chunk in self.source])

    def in_single(self) -> "Rows":
        """The same rows with scores in single precision, for what need not be exact."""
        return replace(self, precision=np.float32)

    def with_floor(self, floor: float) -> "Rows":
        """The same rows with probabilities raised to ``floor``; zero stands for none."""
        return replace(self, log_floor=log_of_floor(floor))

    def thinned(self) -> "Rows | None":
        """Some thousands of these rows, enough for a first guess; None if there are few."""
        n_samples = self.n_samples
        if n_samples < _THIN_FACTOR * _THIN_ROWS:
            return None
        source, picked = self.source, _spread(n_samples, _THIN_ROWS)
        weight = source.sample_weight
        if weight is not None and not weight[picked].any():
            return None
        few = replace(
            source,
            inputs=source.inputs[picked],
            labels=source.labels[picked],
            sample_weight=None if weight is None else weight[picked],
        )
        return replace(self, source=few)

    def __iter__(self) -> Iterator[Chunk]:
        # A floor below all scores need not be looked at, where knowing that is cheap.
        idle = self.in_memory and self.log_floor <= self.source.span[0]
        log_floor = -np.inf if idle else self.log_floor
        source = self.source if self.precision is np.float64 else self.source.in_single()
        for chunk in source:
            yield replace(chunk, scores=floored(chunk.scores, log_floor))


def _spread(n_samples: int, n_picked: int) -> IntArray:
    """Indices of rows spread evenly, one from each of equal stretches.

    The place within a stretch moves by the golden section, so that a period in the rows, such as
    classes that take turns, does not repeat in those picked.
    """
    steps = np.arange(n_picked)
    places = (steps + (steps * _GOLDEN_SECTION) % 1.0) * (n_samples / n_picked)
    return np.minimum(places.astype(np.int64), n_samples - 1)
