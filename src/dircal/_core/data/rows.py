"""The rows of a fit: a source, and how its scores are looked at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dircal._core.caching import cached_property
from dircal._core.data.chunks import (
    AbstractChunkSource,
    Chunk,
    Together,
    clipped,
    log_of_clip,
    once,
    span_of,
    survey_of,
)
from dircal._core.data.limits import DATA_LIMITS
from dircal._typing import AnyFloatArray, FloatArray

__all__ = ["Rows", "View", "fold_together", "smallest_subsample"]


_T = TypeVar("_T")


@dataclass(frozen=True)
class Rows:
    """The rows of a fit: a source, and how its scores are looked at.

    Scores are raised to ``log_clip``, go through ``transform`` and are rounded to ``dtype`` on the
    way to whatever folds them. The solvers know rows only through this class, so the same code fits
    an array, a memory map or the parts of a distributed table.

    Parameters
    ----------
    source : AbstractChunkSource
        Where the rows are.
    log_clip : float
        Logarithm of the floor of probabilities; minus infinity for none.
    transform : callable or None
        Makes of scores (k, m) others, in place; a value that can be compared. One that has
        ``is_increasing`` does the same to every score, and larger ones stay larger.
    dtype : type
        float64, or float32 for what need not be exact.
    """

    source: AbstractChunkSource
    log_clip: float = -np.inf
    transform: Callable[[FloatArray], FloatArray] | None = None
    dtype: type[np.floating[Any]] = np.float64

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return self.source.n_classes

    @property
    def n_samples(self) -> int:
        """Number of rows, those of weight zero included."""
        return self.source.n_samples

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights."""
        return self.source.total_weight

    @cached_property
    def largest(self) -> float:
        """The largest absolute score."""
        low, high = self.source.span
        low = max(low, self.log_clip)
        if self.transform is None:
            return max(high, -low)
        if getattr(self.transform, "is_increasing", False):
            ends = self.transform(np.array([[low, high]]))[0]
            return float(max(ends[1], -ends[0]))
        return float(self.fold(span_of).value.max())

    @property
    def allow_float32(self) -> bool:
        """Whether single precision has digits and range enough for these scores."""
        limits = DATA_LIMITS.get()
        return limits.min_float32_score < self.largest < limits.max_float32_score

    def as_float32(self) -> "Rows":
        """The same rows with scores in single precision, for what need not be exact."""
        return replace(self, dtype=np.float32)

    def with_clip(self, clip: float) -> "Rows":
        """The same rows with probabilities raised to ``clip``; zero stands for none."""
        return replace(self, log_clip=log_of_clip(clip))

    def subsample(self, n_params: int = 1) -> "Rows | None":
        """Some of these rows, enough for a first guess of so many parameters; None if too few."""
        few = self.source.few
        if few is None or n_params > DATA_LIMITS.get().max_params_per_row * few.n_samples:
            return None
        return replace(self, source=few)

    def fold(self, function: Callable[[Chunk], _T]) -> _T:
        """The sum over the chunks of what ``function`` makes of each.

        The first pass over the rows of a fit also makes their survey, and that over transformed
        scores finds the largest: every fit needs both.
        """
        found: _T = fold_together([(self, function)])[0]
        return found

    @property
    def view(self) -> "View":
        """How scores are looked at, without the rows."""
        return View(self.log_clip, self.transform, self.dtype)


def fold_together(parts: Sequence[tuple[Rows, Callable[[Chunk], Any]]]) -> list[Any]:
    """Sum functions of rows, each of its own view of one source, in one pass for all.

    The first pass over a source makes its survey, too.
    """
    source, functions, spanned = parts[0][0].source, [], []
    for rows, function in parts:
        spanned.append(rows.transform is not None and "largest" not in rows.__dict__)
        seen = Together((span_of, function)) if spanned[-1] else function
        functions.append(partial(_viewed, seen, rows.view))
    is_first = "survey" not in source.__dict__
    if is_first:
        # Before the others: some functions use up what they are given.
        functions.insert(0, partial(survey_of, source.n_classes))
    if len(functions) == 1:
        found = [source.fold(functions[0])]
    else:
        found = source.fold(Together(tuple(functions))).values
    if is_first:
        source.__dict__.setdefault("survey", found.pop(0))
    for i, (rows, _) in enumerate(parts):
        if spanned[i]:
            span, found[i] = found[i].values
            rows.__dict__.setdefault("largest", float(span.value.max()))
    return found


def smallest_subsample(rows: Rows) -> Rows | None:
    """A subsample that has none itself: enough for one or two parameters."""
    few = rows.subsample()
    return None if few is None else smallest_subsample(few) or few


@dataclass(frozen=True)
class View:
    """How scores are looked at; see `Rows`."""

    log_clip: float
    transform: Callable[[FloatArray], FloatArray] | None
    dtype: type[np.floating[Any]]

    def of(self, chunk: Chunk) -> Chunk:
        """A chunk so looked at; what was made of its scores last is kept beside it."""
        # A view for each precision: some passes go to and fro between them.
        slot = f"view {self.dtype.__name__}"
        scores = once(chunk.memo, slot, self, partial(self._scores_of, chunk))
        return chunk if scores is chunk.scores else replace(chunk, scores=scores)

    def _scores_of(self, chunk: Chunk) -> AnyFloatArray:
        if self.transform is not None:
            scores = self.transform(np.maximum(chunk.scores, self.log_clip))
            return scores.astype(self.dtype, copy=False)
        scores = chunk.scores.astype(self.dtype, copy=False)
        # A clip below all scores need not be looked at, where knowing that is cheap.
        kept = chunk.memo is not None
        if kept and self.log_clip <= once(chunk.memo, "low", None, chunk.scores.min):
            return scores
        return clipped(scores, self.log_clip)


def _viewed(function: Callable[[Chunk], _T], view: View, chunk: Chunk) -> _T:
    """What ``function`` makes of a chunk that is looked at in this way."""
    return function(view.of(chunk))
