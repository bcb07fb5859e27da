"""A classifier together with the calibrator of its probabilities."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.exceptions import warn
from dircal.selection._auto_calibrator import AutoCalibrator
from dircal.selection._base import check_calibrator, mean_of_members
from dircal.selection._scores import ESTIMATED, join_classes, known_classes, scores_of
from dircal.selection._splits import (
    Split,
    check_cv,
    deal_within_classes,
    make_splits,
    used_rows,
)
from dircal.selection._training import check_trainable, name_of_weight
from dircal.validation import (
    FITTING,
    LabelledScores,
    as_labels,
    category_order,
    check_fold,
    check_option,
    check_weight,
    class_indices,
    classes_of_columns,
    observed_classes,
    show,
    warn_of_order,
)

__all__ = ["CalibratedClassifier"]


class CalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""A classifier whose probabilities are calibrated on rows that it was not trained on.

    Parameters
    ----------
    estimator : classifier, or function with ``scheme="prefit"``
        Any classifier with `predict_proba`, or with `decision_function` where the calibrator reads
        logits. With ``scheme="prefit"`` also a function from rows to probabilities, or a booster
        whose `predict` gives them.
    calibrator : calibrator, optional
        None stands for `AutoCalibrator`. Its ``input_scale`` decides what it is given:
        "probability" the probabilities, "logit" the decision scores.
    cv : int, splitter or iterable of pairs, default=3
        Number of folds, each with its share of every class, dealt at random with a fixed seed; or
        a splitter of scikit-learn; or pairs of indices (rows to train on, rows to calibrate on).
        Not used with ``scheme="prefit"``.
    scheme : {"ensemble", "out_of_fold", "prefit"}, default="ensemble"
        "ensemble": a classifier and a calibrator for each fold, probabilities averaged.
        "out_of_fold": one calibrator, fitted on the scores that each row got from the classifier
        of the fold that kept it back, and one classifier, trained on all rows.
        "prefit": the classifier is ready; all rows calibrate.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    estimators_ : list
        The trained classifiers: one for each fold, or one.
    calibrators_ : list of calibrators
        The fitted calibrators that belong to them.
    n_features_in_ : int
        Number of columns of `X`, where the classifier tells it.

    See Also
    --------
    CalibratorCV : Chooses the hyperparameters of the calibrator; may be used as one here.

    Notes
    -----
    With m folds, classifiers :math:`f_1, \dots, f_m` that were trained without their fold, and
    maps :math:`\mu_1, \dots, \mu_m` that were fitted on it, the ensemble predicts

    .. math:: \frac1m \sum_{i=1}^m \mu_i(f_i(x)),

    the inner loop of the paper's experiments with m = 3. "out_of_fold" predicts
    :math:`\mu(f(x))` and is m times faster to apply; its classifier has seen more rows than those
    that its map was fitted on.

    A class that a fold lacks gets probability zero from its classifier, and the calibrator makes
    of that what its rows say.

    When not to use it: where the classifier is expensive to train and some rows were kept back
    anyway; then "prefit" on those rows. Never calibrate on rows that trained the classifier.

    References
    ----------
    Kull et al. (2019). Beyond temperature scaling. NeurIPS 32, supplement, section on the
    experimental setup.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import train_test_split
    >>> from dircal import CalibratedClassifier
    >>> from dircal.metrics import log_loss
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> forest = RandomForestClassifier(30, random_state=0)
    >>> model = CalibratedClassifier(forest).fit(X_train, y_train)
    >>> raw = forest.fit(X_train, y_train).predict_proba(X_test)
    >>> log_loss(y_test, model.predict_proba(X_test)) < log_loss(y_test, raw)
    True
    """

    classes_: LabelArray
    estimators_: list[Any]
    calibrators_: list[Any]
    n_features_in_: int
    feature_names_in_: LabelArray

    def __init__(
        self,
        estimator: Any,
        calibrator: Any = None,
        *,
        cv: Any = 3,
        scheme: Literal["ensemble", "out_of_fold", "prefit"] = "ensemble",
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.scheme = scheme

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train classifiers and fit calibrators on rows that they have not seen.

        Parameters
        ----------
        X : array, data frame or list of shape (n_samples, ...)
            What the classifier reads.
        y : array of shape (n_samples,)
            True labels.
        sample_weight : array of shape (n_samples,), optional
            Weights, for the calibrators and for a classifier that takes them; of a pipeline, for
            its last step. Rows of weight zero are dropped.
        groups : array of shape (n_samples,), optional
            Rows of one group are never in both parts of a fold.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_option("scheme", self.scheme, ("ensemble", "out_of_fold", "prefit"))
        check_cv(self.cv)
        if self.scheme != "prefit":
            check_trainable(self.estimator)
        calibrator = AutoCalibrator() if self.calibrator is None else self.calibrator
        check_calibrator(calibrator)._check_parameters()
        X, y, groups = indexable(X, y, groups)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        labels, weight = as_labels(y, n, FITTING), check_weight(sample_weight, n)
        task = _Task(self.estimator, calibrator, X, labels, weight, category_order(y))
        if self.scheme == "prefit":
            pairs = [task.prefit()]
        else:
            classes = task.all_classes()
            indices = class_indices(labels, classes)
            splits = make_splits(self.cv, indices, task.used, deal_within_classes, groups)
            if self.scheme == "ensemble":
                pairs = [task.pair(*split, classes) for split in splits]
            else:
                pairs = [task.out_of_fold(splits, classes)]
        # Folds that say the same say it once.
        told = dict.fromkeys(warning for _, fitted in pairs for warning in fitted._fit_warnings())
        self.estimators_ = [estimator for estimator, _ in pairs]
        self.calibrators_ = [fitted for _, fitted in pairs]
        self.classes_ = self.calibrators_[0].classes_
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        for message, category in told:
            warn(message, category)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array, data frame or list of shape (n_samples, ...)
            What the classifier reads.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            Rows sum to one; columns follow ``classes_``.
        """
        check_is_fitted(self)
        pairs = zip(self.estimators_, self.calibrators_, strict=True)
        return mean_of_members(
            calibrator.predict_proba(
                scores_of(classifier, X, calibrator.input_scale, calibrator.column_classes_)
            )
            for classifier, calibrator in pairs
        )

    def predict(self, X: ArrayLike) -> LabelArray:
        """Most probable label of each row after calibration.

        Parameters
        ----------
        X : array, data frame or list of shape (n_samples, ...)
            What the classifier reads.

        Returns
        -------
        labels : array of shape (n_samples,)
            Entries of ``classes_``; the first of equals.
        """
        proba = self.predict_proba(X)
        labels: LabelArray = self.classes_[proba.argmax(axis=1)]
        return labels

    def _check_fitted(self) -> None:
        for i, member in enumerate(self.calibrators_):
            if not np.array_equal(check_calibrator(member).classes_, self.classes_):
                raise ValueError(f"`calibrators_[{i}].classes_` must be that of the whole")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            inner = get_tags(self.estimator)
            tags.input_tags = inner.input_tags
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        if isinstance(self.calibrator, AbstractCalibrator):
            several = get_tags(self.calibrator).classifier_tags.multi_class
            tags.classifier_tags.multi_class &= several
        return tags


@dataclass(frozen=True)
class _Task:
    """What is to be trained and calibrated, and on which rows."""

    estimator: Any
    calibrator: AbstractCalibrator
    X: Any
    labels: LabelArray
    weight: FloatArray | None
    categories: LabelArray | None

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
        told = self.calibrator._labels_of_columns
        if told is None:
            return observed
        n_told = len(list(told))
        return np.sort(classes_of_columns(observed, told, None, n_told, FITTING))

    def prefit(self) -> tuple[Any, AbstractCalibrator]:
        """The classifier as it is, and a calibrator fitted on all rows."""
        known = known_classes(self.estimator)
        if known is None:
            classes = self.calibrator._labels_of_columns
        else:
            classes = join_classes(known, self.labels[self.used])
        scores = self._scores(self.estimator, self.used, classes)
        order = self.categories
        if classes is None and order is not None and np.shape(scores)[1:] == order.shape:
            # Names of a data frame tell more.
            classes = order if isinstance(scores, np.ndarray) else None
        data = self._check(scores, self.used, classes)
        warn_of_order(data, self.calibrator.input_scale, ESTIMATED)
        return self.estimator, self._calibrate(data)

    def pair(
        self, training: npt.NDArray[np.intp], kept_back: npt.NDArray[np.intp], classes: LabelArray
    ) -> tuple[Any, AbstractCalibrator]:
        """A classifier trained on some rows, and a calibrator fitted on others."""
        classifier = self._train(training)
        scores = self._scores(classifier, kept_back, classes)
        return classifier, self._calibrate(self._check(scores, kept_back, classes))

    def out_of_fold(
        self, splits: list[Split], classes: LabelArray
    ) -> tuple[Any, AbstractCalibrator]:
        """A classifier trained on all rows, and a calibrator of scores out of fold."""
        parts = [self._scores(self._train(fit), kept, classes) for fit, kept in splits]
        rows = np.concatenate([kept for _, kept in splits])
        calibrator = self._calibrate(self._check(np.concatenate(parts), rows, classes))
        return self._train(self.used), calibrator

    def _train(self, rows: npt.NDArray[np.intp]) -> Any:
        name = None if self.weight is None else name_of_weight(self.estimator)
        options = {} if name is None else {name: self.weight[rows]}  # type: ignore[index]
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
    ) -> LabelledScores:
        """Scores through the door; what was trained here knows the order of its columns."""
        weight = None if self.weight is None else self.weight[rows]
        scale, arguments = self.calibrator.input_scale, self.calibrator._arguments
        return check_fold(scores, self.labels[rows], weight, classes, scale, arguments)

    def _calibrate(self, data: LabelledScores) -> AbstractCalibrator:
        fitted: AbstractCalibrator = clone(self.calibrator)
        fitted._fit_checked(data)
        # Scores that nobody else has: they go when they have been explained.
        fitted._complete_record()
        return fitted
