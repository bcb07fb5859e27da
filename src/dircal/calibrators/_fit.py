"""The result of a fit as a value, and methods, which make one from rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._core.data.chunks import Reader
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Status
from dircal._threads import limited_blas
from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.exceptions import DircalWarning
from dircal.explain import LazyRecord
from dircal.maps import AbstractStep, CalibrationMap, column_steps
from dircal.tables import (
    BINARY,
    FITTING,
    Arguments,
    LabelledRows,
    check_option,
    check_scores,
)

if TYPE_CHECKING:
    from dircal.calibrators._base import AbstractCalibrator

__all__ = ["AbstractMethod", "AbstractScoreMethod", "Fit", "FitColumns", "Notice", "reader_of"]

_Step = TypeVar("_Step", bound=AbstractStep)
Notice: TypeAlias = tuple[str, type[DircalWarning]]
"""Text and class of a warning about a fit."""


@dataclass(frozen=True, eq=False)
class FitColumns:
    """Columns that a fit has read, and the classes that they stand for.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Labels, sorted.
    column_classes : array of shape (n_classes,)
        Label of each column; for one column, those of both classes.
    n_features : int
        Number of columns.
    feature_names : array of str, optional
        Names of the columns of a data frame.
    """

    classes: LabelArray
    column_classes: LabelArray
    n_features: int
    feature_names: LabelArray | None = None

    @classmethod
    def of(cls, rows: LabelledRows) -> Self:
        """Describe the columns of validated rows."""
        names = rows.feature_names
        if names is not None and not all(isinstance(name, str) for name in names):
            names = None
        return cls(rows.classes, rows.column_classes, rows.n_features, names)

    @property
    def arguments(self) -> Arguments:
        """Rules for reading further rows with these columns."""
        return BINARY if self.n_features == 1 else FITTING

    def order_in(self, column_classes: LabelArray) -> list[int]:
        """Return the place of each column of the fit among columns with these labels."""
        places = np.argsort(column_classes)
        order: list[int] = places[np.searchsorted(self.classes, self.column_classes)].tolist()
        return order


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of fitting a calibrator.

    Parameters
    ----------
    columns : FitColumns
        The columns that were read.
    map : CalibrationMap
        The fitted map.
    details : dataclass, optional
        Diagnostics and estimates, by the names of the estimator's attributes without ``_``.
    members : tuple of calibrators
        Fitted calibrators that this one consists of.
    record : LazyRecord, optional
        Effects of the map on the rows of the fit, for explanations.
    notices : tuple of (str, class)
        Warnings about the fit.
    """

    columns: FitColumns
    map: CalibrationMap
    details: Any = None
    members: "tuple[AbstractCalibrator, ...]" = ()
    record: LazyRecord | None = None
    notices: tuple[Notice, ...] = ()

    @classmethod
    def from_steps(
        cls,
        rows: LabelledRows,
        input_scale: InputScale,
        steps: Iterable[AbstractStep],
        **found: Any,
    ) -> Self:
        """Make a fit of steps that follow the columns, in the order of the classes."""
        columns = FitColumns.of(rows)
        first = column_steps(columns.column_classes, columns.n_features, input_scale)
        return cls(columns, CalibrationMap(columns.n_features, (*first, *steps)), **found)

    @classmethod
    def of_member(cls, member: "AbstractCalibrator", **found: Any) -> Self:
        """Make a fit that predicts with the map of one fitted calibrator."""
        inner = member.fit_
        return cls(inner.columns, inner.map, members=(member,), notices=inner.notices, **found)

    @property
    def has_finite_optimum(self) -> bool:
        """Whether the fit, and those of all members, ended at a finite optimum."""
        return getattr(self.details, "status", None) is not Status.SEPARATED and all(
            member.fit_.has_finite_optimum for member in self.members
        )

    def records(self) -> Iterator[LazyRecord]:
        """Yield the records of this fit and of its members."""
        if self.record is not None:
            yield self.record
        for member in self.members:
            yield from member.fit_.records()

    def complete_records(self) -> Self:
        """Measure now what later needs the rows of the fit, and release them."""
        for record in self.records():
            record.complete()
        return self

    def drop_rows(self) -> Self:
        """Release the rows of the fit; nothing can be measured on them afterwards."""
        for record in self.records():
            record.drop_rows()
        return self

    def step(self, kind: type[_Step]) -> _Step:
        """Return the last step of a kind, which the map must have."""
        found = self.map.find(kind)
        if found is None:
            name = kind.__name__.removeprefix("Abstract")
            raise ValueError(f"`map_` has no step of the kind {name}")
        return found

    def check_scores(self, X: ArrayLike) -> tuple[npt.NDArray[Any], LabelArray]:
        """Validate new rows; also return the label of each of their columns."""
        columns = self.columns
        return check_scores(
            X,
            column_classes=columns.column_classes,
            n_features=columns.n_features,
            feature_names=columns.feature_names,
            # Of the fit, whatever the parameter of the estimator is by now.
            input_scale=self.map.input_scale,
        )

    def calibrate(self, X: ArrayLike) -> FloatArray:
        """Return probabilities (n, k) of new rows."""
        inputs, column_classes = self.check_scores(X)
        return self.map_of(column_classes)(inputs)

    def scores_by_class(self, inputs: npt.NDArray[Any], column_classes: LabelArray) -> FloatArray:
        """Return the scores (n, k) of checked rows, in the order of the classes."""
        n = self.columns.n_features
        steps = column_steps(column_classes, n, self.map.input_scale)
        return CalibrationMap(n, steps).arrange(inputs).T

    def map_of(self, column_classes: LabelArray) -> CalibrationMap:
        """Return the map for rows whose columns have these labels, in any order."""
        if column_classes is self.columns.column_classes:
            return self.map
        return self.map.with_columns(self.columns.order_in(column_classes))

    def map_of_rows(self, rows: LabelledRows) -> CalibrationMap:
        """Return the map for rows that were validated for a fit."""
        whole = self.map_of(rows.column_classes)
        # Validation has made two columns of one already.
        return CalibrationMap(2, whole.steps[1:]) if rows.n_features == 1 else whole

    def predict(self, rows: Any) -> FloatArray:
        """Return probabilities (n, k) of rows in memory that were validated for a fit."""
        return self.map_of_rows(rows)(rows.inputs)


class AbstractMethod(ABC):
    """The checked parameters of a calibrator, and the way from rows to a fit.

    Concrete methods are frozen dataclasses with the parameters of their estimator as fields.
    """

    name: ClassVar[str]
    """Name of the estimator, for messages."""
    usual_steps: ClassVar[int] = 12
    """Approximate Newton steps of a fit, between 4 and 15 with 3 to 500 classes; 0 to show none."""
    details: ClassVar[type | None] = None
    """Class of the details of a fit; None if there are none."""

    input_scale: InputScale
    classes: Iterable[Any] | None

    @property
    def arguments(self) -> Arguments:
        """Rules for reading `X` and `y`."""
        return FITTING

    @property
    def labels_of_columns(self) -> Iterable[Any] | None:
        """Label of each column as the user gave it, here or to a calibrator inside."""
        return self.classes

    @property
    def fits_parts(self) -> bool:
        """Whether a fit needs only sums over rows, which may then be in parts of a table."""
        return False

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""

    def fit(self, rows: LabelledRows) -> Fit:
        """Fit on validated rows, without a warning; BLAS uses one thread if they are few."""
        with limited_blas(rows.shape):
            return self.learn(rows)

    @abstractmethod
    def learn(self, rows: LabelledRows) -> Fit:
        """Find the map of these rows."""

    def fit_each(self, rows: LabelledRows, others: Sequence[Self]) -> Iterator[tuple[int, Fit]]:
        """Yield the number and the fit of each of several methods of this class, in any order.

        Fits that help each other may share work; they need only be precise enough to be compared.
        """
        for i, other in enumerate(others):
            yield i, other.fit(rows)

    def check_fit(self, fit: Fit) -> None:  # noqa: B027 - most have nothing to add
        """Raise a ValueError if parts of a fit that was loaded do not belong together."""

    def paper_grid(self, name: str, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the settings that the paper's experiment of this name tries; None for none."""
        del name, n_classes
        return None

    def default_grid(self, n_classes: int) -> list[dict[str, Any]] | None:
        """Return the settings that a search tries by default; None for none."""
        return self.paper_grid("paper_uci", n_classes)

    def check_fits_parts(self, argument: str = "calibrator") -> None:
        """Raise a ValueError unless sums over rows are enough for a fit."""
        if not self.fits_parts:
            raise ValueError(
                f"`{argument}` must be fitted by sums over rows if these are read in parts; got "
                f"{self.name}, which splits them into folds. Fit it on a sample of the rows, or "
                "pass one such as AutoCalibrator() or DirichletCalibrator()."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractScoreMethod(AbstractMethod):
    """A method that reads scores itself, on a scale that users name."""

    input_scale: InputScale
    classes: Iterable[Any] | None

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        check_option("input_scale", self.input_scale, ("probability", "logit"))

    def read(self, rows: LabelledRows, steps: tuple[AbstractStep, ...]) -> Rows:
        """Return the rows that a fit can learn from, as scores after these steps."""
        used = rows.undecided() if self.input_scale == "logit" else rows
        return Rows(used.source(reader_of(rows, self.input_scale, steps)))


def reader_of(
    rows: LabelledRows, input_scale: InputScale, steps: tuple[AbstractStep, ...]
) -> Reader:
    """Return the way from rows to scores: columns in the order of the classes, then ``steps``."""
    columns = column_steps(rows.column_classes, rows.shape[1], input_scale)
    return CalibrationMap(rows.shape[1], (*columns, *steps)).read
