"""Classifiers and their calibrators: who is trained and fitted on which rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators import AbstractCalibrator, fitted_copy
from dircal.selection._scores import ESTIMATED, join_classes, known_classes, scores_of
from dircal.selection._splits import Split, used_rows
from dircal.selection._training import check_folds
from dircal.tables import (
    FITTING,
    ArrayRows,
    check_fit_arrays,
    classes_of_columns,
    observed_classes,
    show,
    warn_column_order,
)

__all__ = ["ClassifierTask"]


@dataclass(frozen=True)
class ClassifierTask:
    """What is to be trained and calibrated, and on which rows.

    ``options`` are for the `fit` of the classifier; ``weight`` is for the calibrators;
    ``categories`` is the order in which the labels name them, if they do.
    """

    estimator: Any
    calibrator: AbstractCalibrator
    X: Any
    labels: LabelArray
    weight: FloatArray | None
    categories: LabelArray | None
    options: Mapping[str, Any]
    n_jobs: int | None

    @property
    def used(self) -> npt.NDArray[np.intp]:
        """Rows of positive weight."""
        return used_rows(self.weight, len(self.labels))

    def all_classes(self) -> LabelArray:
        """Labels that occur, at least two of them, and those that the calibrator was told of."""
        observed = observed_classes(self.labels[self.used])
        if len(observed) < 2:
            raise ValueError(
                f"`y` holds only one class: {show(observed)}. A classifier needs at least two "
                "classes; pass rows of another one."
            )
        told = self.calibrator.method().labels_of_columns
        if told is None:
            return observed
        n_told = len(list(told))
        return np.sort(classes_of_columns(observed, told, None, n_told, FITTING))

    def prefit(self) -> tuple[Any, AbstractCalibrator]:
        """The classifier as it is, and a calibrator fitted on all rows."""
        known = known_classes(self.estimator)
        if known is None:
            classes = self.calibrator.method().labels_of_columns
        else:
            classes = join_classes(known, self.labels[self.used])
        scores = self._scores(self.estimator, self.used, classes)
        order = self.categories
        if classes is None and order is not None and np.shape(scores)[1:] == order.shape:
            # Names of a data frame tell more.
            classes = order if isinstance(scores, np.ndarray) else None
        data = self._check(scores, self.used, classes)
        warn_column_order(data, self.calibrator.input_scale, ESTIMATED)
        return self.estimator, self._calibrate(data)

    def ensemble(
        self, splits: list[Split], classes: LabelArray
    ) -> list[tuple[Any, AbstractCalibrator]]:
        """For each fold a classifier trained without it, and a calibrator fitted on it."""
        check_folds(splits)
        pairs: list[tuple[Any, AbstractCalibrator]] = Parallel(n_jobs=self.n_jobs)(
            delayed(self._pair)(*split, classes) for split in splits
        )
        return pairs

    def out_of_fold(
        self, splits: list[Split], classes: LabelArray
    ) -> tuple[Any, AbstractCalibrator]:
        """A classifier trained on all rows, and a calibrator of scores out of fold."""
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(self._scores_without)(*split, classes) for split in splits
        )
        rows = np.concatenate([kept for _, kept in splits])
        calibrator = self._calibrate(self._check(np.concatenate(parts), rows, classes))
        return self._train(self.used), calibrator

    def _pair(
        self, training: npt.NDArray[np.intp], kept_back: npt.NDArray[np.intp], classes: LabelArray
    ) -> tuple[Any, AbstractCalibrator]:
        classifier = self._train(training)
        scores = self._scores(classifier, kept_back, classes)
        return classifier, self._calibrate(self._check(scores, kept_back, classes))

    def _scores_without(
        self, training: npt.NDArray[np.intp], kept_back: npt.NDArray[np.intp], classes: LabelArray
    ) -> Any:
        return self._scores(self._train(training), kept_back, classes)

    def _train(self, rows: npt.NDArray[np.intp]) -> Any:
        options = {
            name: _of_rows(value, rows, len(self.labels)) for name, value in self.options.items()
        }
        return clone(self.estimator).fit(_safe_indexing(self.X, rows), self.labels[rows], **options)

    def _scores(
        self, classifier: Any, rows: npt.NDArray[np.intp], classes: Iterable[Any] | None
    ) -> Any:
        part = _safe_indexing(self.X, rows)
        return scores_of(classifier, part, self.calibrator.input_scale, classes)

    def _check(
        self,
        scores: ArrayLike,
        rows: npt.NDArray[np.intp],
        classes: Iterable[Any] | None,
    ) -> ArrayRows:
        """Scores through the door; what was trained here knows the order of its columns."""
        weight = None if self.weight is None else self.weight[rows]
        return check_fit_arrays(
            scores,
            self.labels[rows],
            weight,
            classes=classes,
            input_scale=self.calibrator.input_scale,
            arguments=self.calibrator.method().arguments,
            order_is_known=True,
        )

    def _calibrate(self, data: ArrayRows) -> AbstractCalibrator:
        fitted: AbstractCalibrator = fitted_copy(self.calibrator, data)
        # Scores that nobody else has: they go when they have been explained.
        fitted.fit_.complete_records()
        return fitted


def _of_rows(value: Any, rows: npt.NDArray[np.intp], n_rows: int) -> Any:
    """The part of an option that belongs to some rows; the whole where it is not one for each."""
    if hasattr(value, "shape"):
        is_for_rows = value.shape[:1] == (n_rows,)
    else:
        is_for_rows = isinstance(value, list | tuple) and len(value) == n_rows
    return _safe_indexing(value, rows) if is_for_rows else value
