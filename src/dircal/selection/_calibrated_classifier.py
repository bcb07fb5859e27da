"""A classifier together with the calibrator of its probabilities."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter
from sklearn.utils.validation import check_is_fitted

from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators import AbstractCalibrator
from dircal.exceptions import warn
from dircal.selection._auto_calibrator import AutoCalibrator
from dircal.selection._base import check_calibrator, mean_of_members
from dircal.selection._classifier_task import ClassifierTask
from dircal.selection._routing import is_ready, route, router_of
from dircal.selection._scores import on_scale_of, scores_of
from dircal.selection._splits import deal_within_classes, make_splits
from dircal.selection._training import check_n_jobs, check_trainable, check_training_cv
from dircal.tables import (
    FITTING,
    as_labels,
    category_order,
    check_option,
    check_weight,
    class_indices,
    same_kind,
)

__all__ = ["CalibratedClassifier"]


class CalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""A classifier whose probabilities are calibrated on rows that it was not trained on.

    Parameters
    ----------
    estimator : classifier, or function with ``scheme="prefit"``
        Any classifier with `predict_proba` or `decision_function`. With ``scheme="prefit"`` also a
        function from rows to probabilities, or a booster whose `predict` gives them.
    calibrator : calibrator, optional
        None stands for `AutoCalibrator`. Its ``input_scale`` decides what it is given:
        "probability" the probabilities, "logit" the decision scores. Of a classifier that has
        decision scores only, such as `LinearSVC`, it is given those, and reads them as logits.
    cv : int, splitter or iterable of pairs, default=3
        Number of folds, each with its share of every class, dealt at random with a fixed seed; or
        a splitter of scikit-learn; or pairs of indices (rows to train on, rows to calibrate on).
        Not used with ``scheme="prefit"``.
    scheme : {"ensemble", "out_of_fold", "prefit"}, default="ensemble"
        "ensemble": a classifier and a calibrator for each fold, probabilities averaged; every fold
        keeps back two rows or more.
        "out_of_fold": one calibrator, fitted on the scores that each row got from the classifier
        of the fold that kept it back, and one classifier, trained on all rows.
        "prefit": the classifier is ready; all rows calibrate. A `FrozenEstimator` of scikit-learn
        is ready whatever the scheme.
    n_jobs : int, optional
        Classifiers that are trained at the same time, each in a process of its own; -1 for as many
        as there are processors, None for one, or what `joblib.parallel_config` says.

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

    # Groups are for the folds, which request them: see `get_metadata_routing`.
    __metadata_request__fit: ClassVar = {"groups": UNUSED}

    def __init__(
        self,
        estimator: Any,
        calibrator: Any = None,
        *,
        cv: Any = 3,
        scheme: Literal["ensemble", "out_of_fold", "prefit"] = "ensemble",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.scheme = scheme
        self.n_jobs = n_jobs

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train classifiers and fit calibrators on rows that they have not seen.

        Parameters
        ----------
        X : array, data frame or list of shape (n_samples, ...)
            What the classifier reads.
        y : array of shape (n_samples,)
            True labels.
        sample_weight : array of shape (n_samples,), optional
            Weights, for the calibrators and for a classifier whose `fit` names them; of a pipeline,
            for its last step. A classifier that does not get them is warned about. With
            scikit-learn's metadata routing, for whoever requests them. Rows of weight zero are
            dropped.
        groups : array of shape (n_samples,), optional
            Rows of one group are never in both parts of a fold.
        **fit_params : dict
            Anything else that the `fit` of the classifier takes, passed on with the rows that it
            belongs to; with metadata routing, also what the splitter requests.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_option("scheme", self.scheme, ("ensemble", "out_of_fold", "prefit"))
        check_training_cv(self.cv)
        check_n_jobs(self.n_jobs)
        if not is_ready(self):
            check_trainable(self.estimator)
        calibrator = AutoCalibrator() if self.calibrator is None else self.calibrator
        calibrator = on_scale_of(self.estimator, check_calibrator(calibrator))
        calibrator.method()
        X, y, groups = indexable(X, y, groups)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        labels, weight = as_labels(y, n, FITTING), check_weight(sample_weight, n)
        routed = route(self, weight, groups, fit_params)
        task = ClassifierTask(
            self.estimator,
            calibrator,
            X,
            labels,
            weight,
            category_order(y),
            routed.fit,
            self.n_jobs,
        )
        if is_ready(self):
            pairs = [task.prefit()]
        else:
            classes = task.all_classes()
            splits = make_splits(
                self.cv,
                class_indices(labels, classes),
                task.used,
                deal_within_classes,
                routed.groups,
                X=X,
                options=routed.split,
            )
            if self.scheme == "ensemble":
                pairs = task.ensemble(splits, classes)
            else:
                pairs = [task.out_of_fold(splits, classes)]
        # Folds with the same warning warn once.
        notices = dict.fromkeys(notice for _, fitted in pairs for notice in fitted.fit_.notices)
        self.estimators_ = [estimator for estimator, _ in pairs]
        self.calibrators_ = [fitted for _, fitted in pairs]
        self.classes_ = self.calibrators_[0].classes_
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        for message, category in notices:
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
            Rows sum to one; columns follow ``classes_``. Of the library and on the device of `X`.
        """
        proba: FloatArray = same_kind(self._predict_proba(X), X)
        return proba

    def _predict_proba(self, X: ArrayLike) -> FloatArray:
        """Calibrated probabilities as NumPy has them."""
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
        proba = self._predict_proba(X)
        labels: LabelArray = self.classes_[proba.argmax(axis=1)]
        return labels

    def get_metadata_routing(self) -> MetadataRouter:
        """Who gets what `fit` is given besides rows and labels, with scikit-learn's routing.

        Returns
        -------
        routing : MetadataRouter
            Requests of the model itself, whose weights go to the calibrators, of the classifier's
            `fit`, and of the splitter's `split`; a number of folds requests `groups`.
        """
        return router_of(self)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the classifier and the calibrator inside.

        Parameters
        ----------
        **params : dict
            By name: ``scheme``, ``estimator__C``, ``calibrator__penalty`` and so on.

        Returns
        -------
        self : object
            The estimator.
        """
        nested = [name for name in params if name.startswith("calibrator__")]
        if nested and params.get("calibrator", self.calibrator) is None:
            raise ValueError(
                f"`{nested[0]}` is set, but `calibrator` is None and has no parameters. Name the "
                "calibrator first, for example calibrator=DirichletCalibrator()."
            )
        changed: Self = super().set_params(**params)
        return changed

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
