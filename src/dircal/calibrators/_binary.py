"""What the binary calibrators share: two classes, from two columns or from one."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.utils import Tags

from dircal._core.data.chunks import Chunk
from dircal._core.data.simplex import ROUNDING
from dircal._typing import FloatArray, InputScale, IntArray
from dircal.calibrators._base import AbstractCalibrator, rows_of
from dircal.maps import (
    AbstractStep,
    Columns,
    LogOdds,
    LogProbability,
    LogSoftmax,
    Normalise,
)
from dircal.validation import BINARY, Arguments, LabelledScores

__all__ = [
    "AbstractBinaryCalibrator",
    "ScoredRows",
    "gather_scores",
    "log_probability_steps",
    "score_steps",
]


class AbstractBinaryCalibrator(AbstractCalibrator):
    """A map of the probability of one class, the positive one; the other class has the rest."""

    _arguments: ClassVar[Arguments] = BINARY

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


@dataclass(frozen=True)
class ScoredRows:
    """One score (n,) for each row, labels 0 and 1 (n,), and weights (n,), None if all alike."""

    scores: FloatArray
    labels: IntArray
    weight: FloatArray | None


def gather_scores(data: LabelledScores, input_scale: InputScale) -> ScoredRows:
    """One score for each row of a fit: curves that are sorted need all of them at once."""
    if input_scale == "logit":
        data = data.undecided()
    rows = rows_of(data, input_scale, score_steps(input_scale))
    scores, labels = (np.concatenate(each) for each in zip(*rows.source.fold(_part), strict=True))
    weight = data.sample_weight
    return ScoredRows(scores, labels, None if weight is None else weight[weight > 0])


def _part(chunk: Chunk) -> list[tuple[FloatArray, IntArray]]:
    return [(chunk.scores[0], chunk.labels)]
