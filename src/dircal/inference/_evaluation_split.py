"""Rows on which calibrators are tried: fitted on some of them, and scored on others.

Rows in memory are dealt by a splitter. Those of a table in parts are dealt by their numbers, and
probabilities are never written down: a map is applied to a chunk whenever it is looked at.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dircal._core.caching import cached_property
from dircal._core.data.folds import RowFolds
from dircal._typing import InputScale
from dircal.calibrators import AbstractCalibrator, IdentityCalibrator, Notice, fitted_copy
from dircal.inference._limits import INFERENCE_LIMITS
from dircal.metrics import Predictions, predictions_in_folds, predictions_in_parts
from dircal.selection import (
    Split,
    check_multiclass,
    cross_fit,
    deal_within_classes,
    make_splits,
    scored_rows,
    used_rows,
)
from dircal.tables import ArrayRows, LabelledRows, PartitionedRows, check_integer

__all__ = [
    "AbstractEvaluationSplit",
    "ArraySplit",
    "CrossFitted",
    "PartitionedSplit",
    "make_evaluation_split",
]


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """What maps say of rows that they have not seen, what fits warned about, and the maps."""

    predictions: Predictions
    warnings: tuple[Notice, ...]
    fitted: tuple[Any, ...] = ()


class AbstractEvaluationSplit(ABC):
    """Rows that are dealt into those of fits and those that are scored."""

    data: LabelledRows
    splits: list[Split]
    """Rows to fit and rows to score of each fold, by their numbers; empty for a table in parts."""

    @property
    @abstractmethod
    def n_fits(self) -> int:
        """Fits that a calibrator takes."""

    @property
    @abstractmethod
    def n_scored(self) -> int:
        """Number of rows that are scored."""

    @property
    @abstractmethod
    def scored_rows(self) -> npt.NDArray[np.intp] | None:
        """Numbers of the scored rows, in the order of the folds; None for a table in parts."""

    @property
    def is_split_once(self) -> bool:
        """Whether one of several folds is scored, and no other."""
        return False

    @abstractmethod
    def describe(self, cv: Any) -> str:
        """Describe the folds that were made of ``cv``."""

    @abstractmethod
    def row_number(self, place: int) -> int:
        """The number of a scored row among all rows."""

    @property
    @abstractmethod
    def given(self) -> Predictions:
        """The scored rows as given, if these are probabilities."""

    @abstractmethod
    def with_map(self, fitted: AbstractCalibrator) -> Predictions:
        """The scored rows through a map."""

    @abstractmethod
    def cross_fit(
        self, calibrator: AbstractCalibrator, advance: Callable[[int], None], argument: str
    ) -> CrossFitted:
        """The scored rows through maps that were fitted on others."""

    @abstractmethod
    def fit_on_all(
        self, calibrator: AbstractCalibrator, tried: CrossFitted | None
    ) -> AbstractCalibrator:
        """The map that a user would go on with."""

    @abstractmethod
    def identity(self, input_scale: InputScale) -> AbstractCalibrator:
        """What leaves these rows as they are."""

    def as_they_are(self, input_scale: InputScale) -> Predictions:
        """The scored rows without calibration."""
        return self.with_map(self.identity(input_scale))


@dataclass(frozen=True, eq=False)
class ArraySplit(AbstractEvaluationSplit):
    """Rows in memory, with the rows of each fit and those it is scored on.

    ``scored`` are all that are, in the order of the folds; ``used`` are those of positive weight.
    """

    data: ArrayRows
    splits: list[Split]
    scored: npt.NDArray[np.intp]
    used: npt.NDArray[np.intp]
    each_once: bool = False

    @property
    def n_fits(self) -> int:
        """One for each split."""
        return len(self.splits)

    @property
    def n_scored(self) -> int:
        """Number of rows that are scored."""
        return len(self.scored)

    @property
    def scored_rows(self) -> npt.NDArray[np.intp]:
        """Numbers of the scored rows, in the order of the folds."""
        return self.scored

    def describe(self, cv: Any) -> str:
        """Describe the folds that were made of ``cv``."""
        if cv is None or isinstance(cv, Integral):
            shares = "each with its share of every class"
            return f"{self.n_fits} folds, {shares}, dealt with a fixed seed"
        if hasattr(cv, "split"):
            return f"{self.n_fits} folds of {cv!r}"
        return f"{self.n_fits} pair(s) of rows to fit and rows to score, given by the user"

    def row_number(self, place: int) -> int:
        """As the splits have it."""
        return int(self.scored[place])

    @cached_property
    def _scored_data(self) -> ArrayRows:
        scored = self.data.take(self.scored)
        return scored.unweighted() if self.each_once else scored

    @property
    def given(self) -> Predictions:
        """The scored rows as given, if these are probabilities."""
        return self._checked

    @cached_property
    def _checked(self) -> Predictions:
        # What a map gives is made of checked rows and need not pass the door again.
        return Predictions.of_checked(self._scored_data)

    def identity(self, input_scale: InputScale) -> AbstractCalibrator:
        """Fitted on the scored rows."""
        identity: AbstractCalibrator = IdentityCalibrator(input_scale=input_scale)
        return fitted_copy(identity, self._scored_data)

    def with_map(self, fitted: AbstractCalibrator) -> Predictions:
        """In one array."""
        return self._checked.with_probabilities(fitted.fit_.predict(self._scored_data))

    def cross_fit(
        self, calibrator: AbstractCalibrator, advance: Callable[[int], None], argument: str
    ) -> CrossFitted:
        """Fold by fold."""
        proba, told = cross_fit(calibrator, self.data, self.splits, advance, argument)
        return CrossFitted(self._checked.with_probabilities(proba), tuple(told))

    def fit_on_all(
        self, calibrator: AbstractCalibrator, tried: CrossFitted | None
    ) -> AbstractCalibrator:
        """Fitted once more, on all rows of positive weight."""
        del tried
        fitted: AbstractCalibrator = fitted_copy(calibrator, self.data.take(self.used))
        return fitted


@dataclass(frozen=True, eq=False)
class PartitionedSplit(AbstractEvaluationSplit):
    """Rows in parts of a table, and the ``folds`` that are scored, all of them or one."""

    data: PartitionedRows
    n_folds: int
    scored: tuple[int, ...]
    each_once: bool = False
    _held_out: list[PartitionedRows] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        data = self.data.unweighted() if self.each_once else self.data
        folds = [data]
        if self.n_folds > 1:
            folds = data.held_out(RowFolds(self.n_folds), self.scored)
        object.__setattr__(self, "_held_out", folds)

    @classmethod
    def deal(
        cls, data: PartitionedRows, cv: int | None, *, each_once: bool = False
    ) -> "PartitionedSplit":
        """So many folds; None stands for five, of which one is scored where rows are very many."""
        limits = INFERENCE_LIMITS.get()
        if cv is not None:
            check_integer("cv", cv, at_least=2)
        n_folds = min(limits.n_folds if cv is None else cv, data.n_rows)
        if n_folds < 2:
            raise ValueError(
                "the table has only one row, which cannot be both fitted and scored. Pass more."
            )
        alone = cv is None and data.n_rows > limits.max_fold_rows
        return cls(data, n_folds, (0,) if alone else tuple(range(n_folds)), each_once)

    @classmethod
    def of_fitted(cls, data: PartitionedRows) -> "PartitionedSplit":
        """All rows scored, where nothing is fitted."""
        return cls(data, 1, (0,))

    @property
    def scored_rows(self) -> None:
        """None: the rows are not in memory."""
        return

    @property
    def is_split_once(self) -> bool:
        """Whether one of several folds is scored, and no other."""
        return len(self.scored) < self.n_folds

    @property
    def n_fits(self) -> int:
        """One for each fold that is scored."""
        return len(self.scored)

    @property
    def n_scored(self) -> int:
        """Number of rows that are scored."""
        return sum(one.n_rows for one in self._held_out)

    def describe(self, cv: Any) -> str:
        """Describe the folds."""
        del cv
        folds = f"{self.n_folds} folds, dealt by the numbers of the rows"
        if not self.is_split_once:
            return folds
        left = self.data.n_rows - self.n_scored
        return (
            f"{folds}; since rows are so many, one of them is scored, with maps that were fitted "
            f"on the {left:,} rows of the others"
        )

    def row_number(self, place: int) -> int:
        """From the place of a row in its fold."""
        for number, rows in zip(self.scored, self._held_out, strict=True):
            if place < rows.n_rows:
                return RowFolds(self.n_folds).row_at(number, place)
            place -= rows.n_rows
        raise IndexError(f"there are {self.n_scored} scored rows")

    def identity(self, input_scale: InputScale) -> AbstractCalibrator:
        """It needs no rows."""
        identity: AbstractCalibrator = IdentityCalibrator(input_scale=input_scale)
        return fitted_copy(identity, self.data)

    @property
    def given(self) -> Predictions:
        """The rows as given, if these are probabilities and nothing is fitted."""
        [rows] = self._held_out
        return predictions_in_parts(rows, None)

    def with_map(self, fitted: AbstractCalibrator) -> Predictions:
        """Wherever the rows are folded."""
        return predictions_in_folds([(rows, fitted) for rows in self._held_out])

    def cross_fit(
        self, calibrator: AbstractCalibrator, advance: Callable[[int], None], argument: str
    ) -> CrossFitted:
        """Fold by fold; each map is kept, and no probability."""
        check_multiclass(calibrator, len(self.data.classes), argument)
        calibrator.method().check_fits_parts(argument)
        notices: list[Notice] = []
        fitted = []
        for number in self.scored:
            rows = self.data.left_for_fit(RowFolds(self.n_folds), number)
            fitted.append(fitted_copy(calibrator, rows))
            notices += fitted[-1].fit_.notices
            if not self.is_split_once:
                fitted[-1].fit_.drop_rows()
            advance(1)
        predictions = predictions_in_folds([*zip(self._held_out, fitted, strict=True)])
        # Folds with the same warning warn once.
        return CrossFitted(predictions, tuple(dict.fromkeys(notices)), tuple(fitted))

    def fit_on_all(
        self, calibrator: AbstractCalibrator, tried: CrossFitted | None
    ) -> AbstractCalibrator:
        """Fitted once more, on all rows; the map that was scored where there is one."""
        if tried is not None and self.is_split_once:
            fitted: AbstractCalibrator = tried.fitted[0]
        else:
            fitted = fitted_copy(calibrator, self.data)
        fitted.fit_.complete_records()
        return fitted


def make_evaluation_split(
    data: LabelledRows, cv: Any, *, is_fitted: bool = False, each_once: bool = False
) -> ArraySplit | PartitionedSplit:
    """Split rows into folds; with calibrators that are all fitted, score all of them.

    ``cv`` None stands for five folds, of which one is scored if a table in parts has many rows.
    With ``each_once`` every scored row counts as one.
    """
    if not data.is_in_memory:
        parts = cast(PartitionedRows, data)
        if is_fitted:
            return PartitionedSplit.of_fitted(parts)
        return PartitionedSplit.deal(parts, cv, each_once=each_once)
    data = data.in_memory
    used = used_rows(data.sample_weight, len(data.labels))
    if is_fitted:
        return ArraySplit(data, [], used, used)
    splits = make_splits(
        INFERENCE_LIMITS.get().n_folds if cv is None else cv, data.labels, used, deal_within_classes
    )
    return ArraySplit(data, splits, scored_rows(splits), used, each_once)
