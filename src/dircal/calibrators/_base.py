"""Base class of all calibrators: validate, fit, keep the fit, warn, predict."""

import inspect
from abc import ABC
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from dircal._progress import watch_steps
from dircal._typing import ArrayLike, FloatArray, LabelArray
from dircal.calibrators._fit import AbstractMethod, Fit
from dircal.calibrators._show import html_of, text_of
from dircal.exceptions import warn
from dircal.maps import CalibrationMap
from dircal.tables import (
    CalibratedTable,
    LabelledRows,
    ScoreTable,
    check_fit,
    pass_progress,
    same_kind,
)

__all__ = ["AbstractCalibrator", "fit_arrays", "fit_rows", "fitted_copy", "with_fit"]

_Calibrator = TypeVar("_Calibrator", bound="AbstractCalibrator")


class AbstractCalibrator(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A map from probabilities or logits to calibrated probabilities.

    A final class stores its parameters in ``__init__`` and names its method, which checks them and
    fits. The result is a value, ``fit_``. All fitted attributes are read off it: properties compute
    some of them, others are the ``details`` of the fit.
    """

    fit_: Fit

    method_class: ClassVar[type[AbstractMethod]]

    def method(self) -> Any:
        """Return the checked parameters, as a value that fits.

        Returns
        -------
        method : AbstractMethod
            ``method.fit(rows)`` returns a `Fit`; this calibrator does not change.
        """
        method = self.method_class(**self.get_params(deep=False))
        method.check()
        return method

    @property
    def classes_(self) -> LabelArray:
        """Labels, sorted."""
        return self.fit_.columns.classes

    @property
    def column_classes_(self) -> LabelArray:
        """Label of each column."""
        return self.fit_.columns.column_classes

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self.fit_.columns.n_features

    @property
    def feature_names_in_(self) -> LabelArray:
        """Names of the columns, if they are all strings."""
        names = self.fit_.columns.feature_names
        if names is None:
            raise AttributeError("the columns of the fit have no names")
        return names

    @property
    def map_(self) -> CalibrationMap:
        """The fitted map."""
        return self.fit_.map

    def fit(
        self,
        X: ArrayLike | ScoreTable,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        counts: bool = False,
    ) -> Self:
        """Learn the map from scores and true labels.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes) or (n_samples,), or ScoreTable
            Probabilities, or logits with ``input_scale="logit"``, of rows that were not used to
            train the classifier. For two classes one column is enough, that of the positive
            class: the second of ``classes``, or else the larger label. A logit of -inf masks a
            class, which is then not the label of the row. Memory-mapped arrays are read in chunks.
        y : array of shape (n_samples,) or (n_samples, n_classes), optional
            True labels: strings, integers or booleans; a `ScoreTable` has its own. Or soft labels,
            with a column for each column of `X`: probabilities that sum to one in each row, or
            counts of annotators, which are integers; a row then counts like as many rows as it has
            annotators, who are worth less: see `effective_annotators`.
        sample_weight : array of shape (n_samples,), optional
            Weights; an integer weight counts like so many copies of the row.
        counts : bool, default=False
            Whether soft labels that are no integers are counts as well, of any sum.

        Returns
        -------
        self : object
            The fitted calibrator.
        """
        # Parameters first: a misspelt one should not wait for the rows to be read.
        fit_arrays(self, self.method(), X, y, sample_weight, counts=counts)
        return self

    def predict_proba(self, X: ArrayLike | ScoreTable) -> FloatArray:
        """Calibrated probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes), or ScoreTable
            Scores on the scale, and with the columns, that the calibrator was fitted on.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
            Rows sum to one; columns follow ``classes_``. Where a logit is -inf, exactly zero.
            Of float64, and of the library and on the device of `X`: a tensor for a tensor. For a
            `ScoreTable` a calibrated table, whose rows are computed when it is written.
        """
        if isinstance(X, ScoreTable):
            check_is_fitted(self)
            return CalibratedTable(X, self)  # type: ignore[return-value]
        proba: FloatArray = same_kind(self._predict_proba(X), X)
        return proba

    def _predict_proba(self, X: ArrayLike) -> FloatArray:
        """Calibrated probabilities as NumPy has them."""
        if "fit_" not in vars(self):
            check_is_fitted(self)
        return self.fit_.calibrate(X)

    def predict(self, X: ArrayLike) -> LabelArray:
        """Most probable label of each row after calibration.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_classes)
            As for `predict_proba`.

        Returns
        -------
        labels : array of shape (n_samples,)
            Entries of ``classes_``, an array of NumPy; the first of equals.
        """
        proba = self._predict_proba(X)
        labels: LabelArray = self.classes_[proba.argmax(axis=1)]
        return labels

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            fit = vars(self).get("fit_")
            if fit is not None and name in _details_of(type(self)):
                return getattr(fit.details, name[:-1])
            if fit is None and name.endswith("_") and not name.startswith("_"):
                raise AttributeError(f"{type(self).__name__} is not fitted yet. Call `fit` first.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(_details_of(type(self)) if "fit_" in vars(self) else ())]

    def __str__(self) -> str:
        return text_of(self) if "fit_" in vars(self) else repr(self)

    def _repr_html_inner(self) -> str:
        """For a notebook: the diagram of scikit-learn, after a fit with what was found above it."""
        diagram: str = estimator_html_repr(self)
        return html_of(self, diagram) if "fit_" in vars(self) else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same for those that ask for all forms at once, as Jupyter does."""
        del kwargs
        shown = {"text/plain": str(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._repr_html_inner()
        return shown

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.input_scale == "probability"
        return tags


@cache
def _details_of(cls: type) -> frozenset[str]:
    """Return the annotated attributes of a calibrator, which are details of its fit."""
    names = (name for base in cls.__mro__ for name in inspect.get_annotations(base))
    return frozenset(name for name in names if name.endswith("_") and name != "fit_")


def with_fit(calibrator: _Calibrator, fit: Fit) -> _Calibrator:
    """Return a copy of a calibrator with another fit."""
    copy: _Calibrator = clone(calibrator)
    copy.fit_ = fit
    return copy


def fitted_copy(calibrator: _Calibrator, rows: LabelledRows) -> _Calibrator:
    """Return a copy that is fitted on validated rows, without a warning."""
    copy: _Calibrator = clone(calibrator)
    copy.fit_ = copy.method().fit(rows)
    return copy


def fit_rows(calibrator: AbstractCalibrator, method: AbstractMethod, rows: LabelledRows) -> None:
    """Fit on validated rows, store the fit and warn."""
    if not rows.is_in_memory:
        method.check_fits_parts()
    with watch_steps(method.usual_steps):
        fit = method.fit(rows)
    # After everything is stored: a warning that is made an error loses nothing.
    calibrator.fit_ = fit
    for message, category in fit.notices:
        warn(message, category)
    if not rows.is_in_memory:
        # Whatever needs the rows later is computed now: they need not stay where they are.
        fit.complete_records()


def fit_arrays(
    calibrator: AbstractCalibrator,
    method: AbstractMethod,
    X: ArrayLike | ScoreTable,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    counts: bool,
) -> None:
    """Validate what users pass to `fit`, and fit the calibrator."""
    with pass_progress("Fitting", X) as (X, passes):
        rows: LabelledRows = check_fit(
            X,
            y,
            sample_weight,
            classes=method.labels_of_columns,
            input_scale=method.input_scale,
            arguments=method.arguments,
            counts=counts,
        )
        passes.expect(rows.shape[0])
        fit_rows(calibrator, method, rows)
