"""What the binary calibrators share: two classes, from two columns or from one."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from dircal._core.data.chunks import Reader, Rows, Source, log_of_floor, row_slices, used_part
from dircal._core.data.simplex import TINY, as_given, log_softmax
from dircal._core.model.logistic import log_odds, sigmoid
from dircal._core.optim.newton import Solution, Status
from dircal._typing import FloatArray, IntArray
from dircal.calibrators._base import AbstractMapCalibrator, Complaint, column_order
from dircal.calibrators._solver_base import (
    Clip,
    check_solver_options,
    choose_floor,
    complaints_about,
)
from dircal.validation import BINARY, Arguments, LabelledScores

__all__ = ["AbstractBinaryCalibrator", "AbstractLogisticCalibrator", "AbstractScoreCalibrator"]


class AbstractBinaryCalibrator(AbstractMapCalibrator):
    """A map of the probability of one class, the positive one; the other class has the rest."""

    _arguments: ClassVar[Arguments] = BINARY

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class AbstractScoreCalibrator(AbstractBinaryCalibrator):
    """A map of one number a row: the positive probability as given, or the log-odds."""

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        read = self._reader(column_order(data.column_classes))
        inputs, labels, weight = used_part(
            data.inputs, data.labels, data.sample_weight, slice(None)
        )
        scores = np.empty(len(labels))
        for part in row_slices(inputs.shape):
            scores[part] = read(inputs[part])
        return self._find_from_scores(scores, labels, weight)

    def _reader(self, columns: IntArray | None) -> Reader:
        return Reader(log_odds if self.input_scale == "logit" else _positive, columns)

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        return lambda scores: both_classes(self._positive_proba(scores[0]))

    @abstractmethod
    def _find_from_scores(
        self, scores: FloatArray, labels: IntArray, weight: FloatArray | None
    ) -> dict[str, Any]:
        """Fitted attributes, from scores (n,), labels 0 and 1 (n,), and weights above zero."""

    @abstractmethod
    def _positive_proba(self, scores: FloatArray) -> FloatArray:
        """Calibrated probability (m,) of the positive class, from scores (m,)."""


class AbstractLogisticCalibrator(AbstractBinaryCalibrator):
    """A logistic map of a few features of the two log-probabilities."""

    clip: Clip
    max_iter: int
    tol: float
    clip_: float
    n_iter_: int
    _status: Status

    _why_infinite: ClassVar[str] = (
        "a threshold separates the classes without error "
        "(few rows, an absent class, or a classifier that makes no mistakes)."
    )
    _remedy: ClassVar[str]

    def _check_parameters(self) -> None:
        check_solver_options(self.clip, self.max_iter, self.tol)

    def _find(self, data: LabelledScores) -> dict[str, Any]:
        read = Reader(self._transform(), column_order(data.column_classes))
        rows = Rows(Source(data.inputs, data.labels, data.sample_weight, read))
        start = choose_floor(rows, self.clip, self.input_scale, self.max_iter)
        rows = rows.with_floor(start.floor)
        solution = self._solve(rows, start.slope)
        return {
            **self._name_parameters(solution.params),
            "clip_": start.floor,
            "n_iter_": solution.n_iter,
            "_status": solution.status,
        }

    def _transform(self) -> Callable[[FloatArray], FloatArray]:
        return log_softmax if self.input_scale == "logit" else _log_as_given

    def _reader(self, columns: IntArray | None) -> Reader:
        return Reader(self._transform(), columns, log_of_floor(self.clip_))

    def _map(self) -> Callable[[FloatArray], FloatArray]:
        def apply(scores: FloatArray) -> FloatArray:
            logits = self._logits(scores)
            return np.vstack([sigmoid(-logits), sigmoid(logits)])

        return apply

    def _complaints(self) -> list[Complaint]:
        return complaints_about(
            self._status,
            type(self).__name__,
            max_iter=self.max_iter,
            why_infinite=self._why_infinite,
            remedy=self._remedy,
        )

    @abstractmethod
    def _solve(self, rows: Rows, slope: float) -> Solution:
        """Best parameters, starting from the temperature map with the given slope."""

    @abstractmethod
    def _name_parameters(self, params: FloatArray) -> dict[str, float]:
        """Fitted attributes that hold the parameters."""

    @abstractmethod
    def _logits(self, scores: FloatArray) -> FloatArray:
        """Calibrated log-odds (m,) of the positive class, from log-probabilities (2, m)."""


def _positive(block: FloatArray) -> FloatArray:
    """Probabilities (1, m) of the positive class from both (2, m)."""
    return as_given(block)[1:]


def _log_as_given(block: FloatArray) -> FloatArray:
    """Logarithm of the probabilities in ``block`` (2, m), in place; zeros become ``TINY``."""
    np.maximum(as_given(block), TINY, out=block)
    return np.log(block, out=block)


def both_classes(positive: FloatArray) -> FloatArray:
    """Probabilities (2, m) of both classes from those of the positive one."""
    return np.vstack([1.0 - positive, positive])
