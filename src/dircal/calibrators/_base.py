"""What every calibrator shares: fit and predict, written once."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from dircal._core.data.chunks import Reader
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Status
from dircal._progress import watch_steps
from dircal._threads import limited_blas
from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.calibrators._show import html_of, text_of
from dircal.exceptions import DircalWarning, warn
from dircal.maps import AbstractStep, CalibrationMap, column_steps
from dircal.tables import (
    FITTING,
    Arguments,
    ArrayRows,
    CalibratedTable,
    LabelledRows,
    ScoreTable,
    check_fit,
    check_option,
    check_scores,
    pass_progress,
    same_kind,
)

__all__ = ["AbstractCalibrator", "FitWarning", "Fitted", "reader_of", "rows_of"]

_Step = TypeVar("_Step", bound=AbstractStep)
FitWarning: TypeAlias = tuple[str, type[DircalWarning]]


@dataclass(frozen=True)
class Fitted:
    """What a fit found.

    ``steps`` are those of the map after the columns are in the order of the classes, None where the
    map is that of members; ``attributes`` are what else there is to remember, by name.
    """

    steps: tuple[AbstractStep, ...] | None
    attributes: Mapping[str, Any] = field(default_factory=dict)


class AbstractCalibrator(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A map from probabilities or logits to calibrated probabilities.

    A final class stores its parameters in ``__init__`` and says two things: whether they are valid,
    and what a fit finds. The map that a fit ends in is a value, ``map_``; predictions, files and
    exports are made from it. Fitted attributes are annotated, which is what files go by.
    """

    classes_: LabelArray
    column_classes_: LabelArray
    n_features_in_: int
    feature_names_in_: LabelArray
    map_: CalibrationMap

    _arguments: ClassVar[Arguments] = FITTING
    """How the door reads `X` and `y`."""
    _usual_steps: ClassVar[int] = 12
    """Newton steps of a fit, or so: between 4 and 15 with 3 to 500 classes; 0 to show none."""

    input_scale: InputScale
    classes: Iterable[Any] | None

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
        X : array or data frame of shape (n_samples, n_classes), or ScoreTable
            Probabilities, or logits with ``input_scale="logit"``, of rows that were not used to
            train the classifier. A logit of -inf masks a class, which is then not the label of the
            row. Memory-mapped arrays are read in chunks.
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
        self._check_parameters()
        with pass_progress("Fitting", X) as (X, passes):
            data: LabelledRows = check_fit(
                X,
                y,
                sample_weight,
                classes=self._labels_of_columns,
                input_scale=self.input_scale,
                arguments=self._arguments,
                counts=counts,
            )
            passes.expect(data.shape[0])
            return self._fit_with_warnings(data)

    def _check_fits_parts(self, argument: str = "calibrator") -> None:
        """Raise a ValueError unless sums over rows are enough for a fit."""
        if not self._fits_parts:
            raise ValueError(
                f"`{argument}` must be fitted by sums over rows if these are read in parts; got "
                f"{self!r}, which splits them into folds. Fit it on a sample of the rows, or pass "
                "one such as AutoCalibrator() or DirichletCalibrator()."
            )

    def _fit_with_warnings(self, data: LabelledRows) -> Self:
        """Fit with valid parameters on rows that have passed the door."""
        if not data.is_in_memory:
            self._check_fits_parts()
        with watch_steps(self._usual_steps):
            self._fit_checked(data)
        # After everything is stored: a warning that is made an error loses nothing.
        for message, category in self._fit_warnings():
            warn(message, category)
        if not data.is_in_memory:
            # Whatever needs the rows later is computed now: they need not stay where they are.
            self._complete_record()
            self._let_go_of_rows()
        return self

    @property
    def _labels_of_columns(self) -> Iterable[Any] | None:
        """Label of each column as the user gave it, here or to a calibrator inside."""
        return self.classes

    @property
    def _fits_parts(self) -> bool:
        """Whether a fit only asks for sums over rows, which may then be in parts of a table."""
        return False

    def _fit_checked(self, data: LabelledRows) -> Self:
        """Fit with valid parameters on rows that have passed the door, without a warning."""
        with limited_blas(data.shape):
            self._store(data, self._fit(data))
        return self

    def _fit_settings(
        self, data: ArrayRows, settings: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[int, Self]]:
        """A fitted copy with each of some settings of the parameters, and its number, in any order.

        A class whose fits help each other overrides this; what it yields need only be good enough
        to be compared.
        """
        for i, setting in enumerate(settings):
            yield i, clone(self).set_params(**setting)._fit_checked(data)

    def _check_parameters(self) -> None:
        """Raise a ValueError about the first parameter that is not valid."""
        check_option("input_scale", self.input_scale, ("probability", "logit"))
        self._check_options()

    def _store(self, data: LabelledRows, fitted: Fitted) -> None:
        """Set what was found, all at once: a fit that fails before loses nothing."""
        self.__dict__.pop("feature_names_in_", None)
        if data.feature_names is not None and all(isinstance(n, str) for n in data.feature_names):
            self.feature_names_in_ = data.feature_names
        self.n_features_in_ = data.n_features
        self.classes_ = data.classes
        self.column_classes_ = data.column_classes
        if fitted.steps is not None:
            columns = column_steps(data.column_classes, data.n_features, self.input_scale)
            self.map_ = CalibrationMap(data.n_features, (*columns, *fitted.steps))
        for name, value in fitted.attributes.items():
            setattr(self, name, value)

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
        check_is_fitted(self)
        inputs, column_classes = self._check_scores(X)
        return self._map_of(column_classes)(inputs)

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

    def _check_scores(self, X: ArrayLike) -> tuple[npt.NDArray[Any], LabelArray]:
        """New rows through the door, and the label of each of their columns."""
        return check_scores(
            X,
            column_classes=self.column_classes_,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            # Of the fit, whatever the parameter says by now.
            input_scale=self.map_.input_scale,
            arguments=self._arguments,
        )

    def _map_of(self, column_classes: LabelArray) -> CalibrationMap:
        """The map of rows with these columns, which may stand in another order than in the fit."""
        if column_classes is self.column_classes_:
            return self.map_
        places = np.argsort(column_classes)
        order = places[np.searchsorted(self.classes_, self.column_classes_)]
        return self.map_.with_columns(order.tolist())

    def _predict_checked(self, data: ArrayRows) -> FloatArray:
        """Probabilities (n, k) of rows that have passed the door for a fit."""
        return self._map_of_checked(data)(data.inputs)

    def _map_of_checked(self, data: LabelledRows) -> CalibrationMap:
        """The map of rows that have passed the door for a fit."""
        whole = self._map_of(data.column_classes)
        # The door has made two columns of one already.
        return CalibrationMap(2, whole.steps[1:]) if data.n_features == 1 else whole

    def _step(self, kind: type[_Step]) -> _Step:
        """The last step of a kind, which the map of this class has."""
        # Attributes that are read off the map are not there before a fit: scikit-learn asks.
        if "map_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet. Call `fit` first.")
        found = self.map_.find(kind)
        if found is None:
            name = kind.__name__.removeprefix("Abstract")
            raise ValueError(f"`map_` has no step of the kind {name}")
        return found

    def __str__(self) -> str:
        return text_of(self) if "classes_" in vars(self) else repr(self)

    def _repr_html_inner(self) -> str:
        """For a notebook: the diagram of scikit-learn, after a fit with what was found above it."""
        diagram: str = estimator_html_repr(self)
        return html_of(self, diagram) if "classes_" in vars(self) else diagram

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

    def _check_options(self) -> None:
        """Raise a ValueError about the first parameter of the class's own that is not valid."""

    @abstractmethod
    def _fit(self, data: LabelledRows) -> Fitted:
        """The steps of the map, and what else was found; sets nothing."""

    def _paper_grid(self, name: str, n_classes: int) -> list[dict[str, Any]] | None:
        """Settings that the paper's experiment of this name tries; None if there are none."""
        del name, n_classes
        return None

    def _fit_warnings(self) -> list[FitWarning]:
        """What there is to warn about after a fit, and by which warning."""
        return []

    def _has_finite_optimum(self) -> bool:
        """Whether the fit ended where it is best, and not at what stands for infinity."""
        if getattr(self, "_status", None) is Status.SEPARATED:
            return False
        return all(member._has_finite_optimum() for member in self._members())

    def _check_fitted(self) -> None:
        """Raise a ValueError where attributes that were loaded do not belong together."""

    def _members(self) -> Sequence["AbstractCalibrator"]:
        """Fitted calibrators that this one is made of."""
        return ()

    def _complete_record(self) -> None:
        """Answer now what is asked of the rows of the fit later, and let them go."""
        for member in self._members():
            member._complete_record()

    def _let_go_of_rows(self) -> None:
        """Forget the rows of the fit, unasked."""
        for member in self._members():
            member._let_go_of_rows()


def reader_of(
    data: LabelledRows, input_scale: InputScale, steps: tuple[AbstractStep, ...]
) -> Reader:
    """How the rows of a fit become scores: columns in the order of the classes, then ``steps``."""
    columns = column_steps(data.column_classes, data.shape[1], input_scale)
    return CalibrationMap(data.shape[1], (*columns, *steps)).read


def rows_of(data: LabelledRows, input_scale: InputScale, steps: tuple[AbstractStep, ...]) -> Rows:
    """The rows of a fit that tell something, so read."""
    used = data.undecided() if input_scale == "logit" else data
    return Rows(used.source(reader_of(data, input_scale, steps)))
