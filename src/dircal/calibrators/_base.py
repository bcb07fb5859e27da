"""What every calibrator shares: fit and predict, written once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import threadpoolctl
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.chunks import Reader, row_slices
from dircal._typing import ArrayLike, FloatArray, InputScale, IntArray, LabelArray
from dircal.exceptions import DircalWarning, warn
from dircal.validation import (
    FITTING,
    Arguments,
    LabelledScores,
    check_fit,
    check_option,
    check_scores,
)

__all__ = [
    "AbstractCalibrator",
    "AbstractMapCalibrator",
    "Complaint",
    "column_order",
    "limited_blas",
]

Complaint: TypeAlias = tuple[str, type[DircalWarning]]

# Products of matrices up to this many multiplications a chunk run on one BLAS thread: handing
# parts of them to a second one costs more than it saves.
_ONE_THREAD_WORK = 2e8


@cache
def _threadpools() -> threadpoolctl.ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small fit, so it is done once.
    return threadpoolctl.ThreadpoolController()


class _OneThread(AbstractContextManager[None]):
    """Limits BLAS to one thread while anybody is inside, whichever thread came first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limiter = _threadpools().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limiter.restore_original_limits()


_one_thread = _OneThread()


def limited_blas(shape: tuple[int, ...]) -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread, if rows (n, k) of this shape make small products."""
    n_classes = shape[1]
    if next(row_slices(shape)).stop * n_classes**2 > _ONE_THREAD_WORK:
        return nullcontext()
    return _one_thread


class AbstractCalibrator(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A map from probabilities or logits to calibrated probabilities.

    A final class stores its parameters in ``__init__`` and says three things: whether they are
    valid, what a fit finds, and how checked scores become probabilities.
    """

    classes_: LabelArray
    column_classes_: LabelArray
    n_features_in_: int

    _arguments: ClassVar[Arguments] = FITTING
    """How the door reads `X` and `y`."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the map from scores and true labels.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            Probabilities, or logits with ``input_scale="logit"``, of rows that were not used to
            train the classifier. Memory-mapped arrays are read in chunks.
        y : array of shape (n_samples,)
            True labels: strings, integers or booleans.
        sample_weight : array of shape (n_samples,), optional
            Weights; an integer weight counts like so many copies of the row.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        # Parameters first: a misspelt one should not wait for the rows to be read.
        self._check_all_parameters()
        data = check_fit(
            X,
            y,
            sample_weight,
            classes=self.classes,
            input_scale=self.input_scale,
            arguments=self._arguments,
        )
        self._fit_checked(data)
        self._warn_about_fit()
        return self

    def _warn_about_fit(self) -> None:
        """Warn, after everything is stored."""
        for message, category in self._complaints():
            warn(message, category)

    def _fit_checked(self, data: LabelledScores) -> Self:
        """Fit on rows that have passed the door, without a warning."""
        self._check_all_parameters()
        with limited_blas(data.inputs.shape):
            self._store(data, self._find(data))
        return self

    def _fit_settings(
        self, data: LabelledScores, settings: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, Self]]:
        """A fitted copy with each of some settings of the parameters, and its number, in any order.

        A class whose fits help each other overrides this.
        """
        for i, setting in enumerate(settings):
            yield i, clone(self).set_params(**setting)._fit_checked(data)

    def _check_all_parameters(self) -> None:
        check_option("input_scale", self.input_scale, ("probability", "logit"))
        self._check_parameters()

    def _store(self, data: LabelledScores, fitted: Mapping[str, Any]) -> None:
        """Set what was found, all at once: a fit that fails before loses nothing."""
        self.__dict__.pop("feature_names_in_", None)
        if data.feature_names is not None and all(isinstance(n, str) for n in data.feature_names):
            self.feature_names_in_ = data.feature_names
        self.n_features_in_ = data.n_features
        self.classes_ = data.classes
        self.column_classes_ = data.column_classes
        for name, value in fitted.items():
            setattr(self, name, value)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            Scores on the scale, and with the columns, that the calibrator was fitted on.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            Rows sum to one; columns follow ``classes_``.
        """
        check_is_fitted(self)
        return self._apply(*self._check_scores(X))

    def predict(self, X: ArrayLike) -> LabelArray:
        """Most probable label of each row after calibration.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            As for `predict_proba`.

        Returns
        -------
        labels : array of shape (n_samples,)
            Entries of ``classes_``; the first of equals.
        """
        proba = self.predict_proba(X)
        labels: LabelArray = self.classes_[proba.argmax(axis=1)]
        return labels

    def _check_scores(self, X: ArrayLike) -> tuple[npt.NDArray[Any], LabelArray]:
        """New rows through the door, and the label of each of their columns."""
        return check_scores(
            X,
            column_classes=self.column_classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            input_scale=self.input_scale,
            arguments=self._arguments,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.input_scale == "probability"
        return tags

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise a ValueError about the first parameter that is not valid."""

    @abstractmethod
    def _find(self, data: LabelledScores) -> dict[str, Any]:
        """Fitted attributes by name; sets none of them."""

    @abstractmethod
    def _apply(self, inputs: npt.NDArray[Any], column_classes: LabelArray) -> FloatArray:
        """Calibrated probabilities (n, k) of scores that have passed the door."""

    def _complaints(self) -> list[Complaint]:
        """What there is to warn about after a fit, and by which warning."""
        return []


class AbstractMapCalibrator(AbstractCalibrator):
    """A calibrator that reads scores and applies one map to them, a chunk at a time."""

    input_scale: InputScale
    classes: Iterable[Any] | None

    @abstractmethod
    def _reader(self, columns: IntArray | None) -> Reader:
        """How rows become scores, for input whose classes are in these columns."""

    @abstractmethod
    def _map(self) -> Callable[[FloatArray], FloatArray]:
        """The fitted map, from scores (k, m) to probabilities (k, m); may use up its input."""

    def _apply(self, inputs: npt.NDArray[Any], column_classes: LabelArray) -> FloatArray:
        read, apply = self._reader(column_order(column_classes)), self._map()
        proba = np.empty(inputs.shape)
        with limited_blas(inputs.shape):
            for part in row_slices(inputs.shape):
                proba[part] = apply(read(inputs[part])).T
        return proba


def column_order(column_classes: LabelArray) -> IntArray | None:
    """Column of each class in sorted order; None if they are sorted."""
    order = np.argsort(column_classes)
    return None if np.array_equal(order, np.arange(len(order))) else order
