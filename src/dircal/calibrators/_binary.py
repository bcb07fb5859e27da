"""Calibrators of two classes, which read two columns or one."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import Tags

from dircal._core.data.chunks import AbstractChunkSource, Chunk
from dircal._core.data.simplex import ROUNDING
from dircal._typing import FloatArray, InputScale, IntArray
from dircal.calibrators._base import AbstractCalibrator
from dircal.calibrators._fit import AbstractScoreMethod
from dircal.maps import (
    AbstractStep,
    Columns,
    LogOdds,
    LogProbability,
    LogSoftmax,
    Normalise,
)
from dircal.tables import BINARY, Arguments, LabelledRows

__all__ = [
    "AbstractBinaryCalibrator",
    "AbstractCurveMethod",
    "has_many_rows",
    "log_probability_steps",
    "score_steps",
]

# Up to here rows are gathered and sorted, which takes 1 GB at most; beyond, what is kept of them
# has one size.
_MOST_GATHERED = 10_000_000


class AbstractBinaryCalibrator(AbstractCalibrator):
    """A map of the probability of one class, the positive one; the other class has the rest."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def score_steps(input_scale: InputScale) -> tuple[AbstractStep, ...]:
    """From two columns to one number: the positive probability as given, or the log-odds."""
    if input_scale == "logit":
        return (LogOdds(),)
    return Normalise(ROUNDING), Columns((1,))


def log_probability_steps(input_scale: InputScale, clip: float) -> tuple[AbstractStep, ...]:
    """From two columns to the two log-probabilities."""
    if input_scale == "logit":
        return (LogSoftmax(clip),)
    return Normalise(ROUNDING), LogProbability(clip)


def has_many_rows(data: LabelledRows) -> bool:
    """Whether a curve is fitted to sums over rows rather than to the rows themselves.

    Parts of a table are never gathered.
    """
    return data.shape[0] > _MOST_GATHERED or not data.is_in_memory


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractCurveMethod(AbstractScoreMethod):
    """Fits a curve of one score, from the rows or from sums over them."""

    @property
    def arguments(self) -> Arguments:
        """Rules for reading `X` and `y`: one column may stand for two classes."""
        return BINARY

    @property
    def fits_parts(self) -> bool:
        """Whether a fit needs only sums over rows: yes."""
        return True

    def source(self, rows: LabelledRows) -> AbstractChunkSource:
        """Return the rows with one score and one label for each."""
        return self.read(rows.with_hard_rows(), score_steps(self.input_scale)).source

    def gather(self, rows: LabelledRows) -> "ScoredRows":
        """Return one score for each row: curves that are sorted need all of them at once."""
        data = rows.in_memory.with_hard_rows()
        if self.input_scale == "logit":
            data = data.undecided()
        parts = self.source(data).fold(_part)
        scores, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
        weight = data.sample_weight
        return ScoredRows(scores, labels, None if weight is None else weight[weight > 0])


@dataclass(frozen=True)
class ScoredRows:
    """One score (n,) for each row, labels 0 and 1 (n,), and weights (n,), None if all alike."""

    scores: FloatArray
    labels: IntArray
    weight: FloatArray | None


def _part(chunk: Chunk) -> list[tuple[FloatArray, IntArray]]:
    return [(chunk.scores[0], chunk.labels)]
