"""Soft labels: how probable each class is as the label of a row, or how many annotators say so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.exceptions import RowSumWarning, warn
from dircal.tables._columns import Arguments, classes_of_columns, refuse_riddles
from dircal.tables._conversion import as_array, refuse_masked, refuse_sparse
from dircal.tables._eager import eager_frame
from dircal.tables._label_types import SEVERAL_LABELS, as_label_array, check_classes, show
from dircal.tables._names import match_names
from dircal.tables._numbers import (
    ROW_SUM_QUIET,
    ROW_SUM_TOLERANCE,
    SUM_SLACK,
    WorstSum,
    rounding_of,
)
from dircal.tables._two_classes import classes_of_two

__all__ = [
    "SoftLabels",
    "SoftReading",
    "SoftSummary",
    "as_soft_labels",
    "check_soft_labels",
    "has_label_columns",
    "refuse_soft_labels",
]

# Rows that miss one by the rounding of their sum are taken as they are, without a copy.
_SUM_ROUNDING = 1e-12


@dataclass(frozen=True)
class SoftLabels:
    """Soft labels as given: ``shares`` (n, k) sum to one in each row that has weight.

    ``weight`` (n,) is what a row counts by its annotators, None where every row counts as one;
    ``names`` (k,) are those of the columns of a data frame.
    """

    shares: FloatArray
    weight: FloatArray | None
    names: LabelArray | None

    def match(
        self,
        names: LabelArray | None,
        n_columns: int,
        classes: Iterable[Any] | None,
        arguments: Arguments,
    ) -> tuple["SoftLabels", LabelArray]:
        """With columns in the sorted order of the classes, and the label of each score column.

        The columns are in the order of those of the scores, unless names tell another; ``names``
        are those of the scores.
        """
        k = self.shares.shape[1]
        if n_columns != k and not (n_columns == 1 and k == 2):
            raise ValueError(
                f"`{arguments.labels}` has {k} columns, but `{arguments.scores}` has {n_columns}. "
                "Pass a column of soft labels for each column of scores, in the same order."
            )
        told = self.names
        if told is None and names is not None and n_columns == k:
            told = names
        observed = np.arange(k) if told is None else _labels_called(told.tolist())
        if classes is not None:
            # What the user says; names of columns need not be labels then.
            observed = observed[:0]
        if arguments.is_binary:
            column_classes = classes_of_two(observed, classes, names, n_columns)
        else:
            column_classes = classes_of_columns(observed, classes, names, n_columns, arguments)
        own = column_classes
        if n_columns == 1:
            own = observed if classes is None else check_classes(classes)
        order = np.argsort(self._by_name(own, arguments))
        if (order == np.arange(k)).all():
            return self, column_classes
        return replace(self, shares=self.shares[:, order]), column_classes

    def _by_name(self, own: LabelArray, arguments: Arguments) -> LabelArray:
        """The label of each column, by its name where that tells."""
        if self.names is None:
            return own
        matched = match_names(self.names, own)
        if matched is None:
            refuse_riddles(self.names, own, replace(arguments, scores=arguments.labels))
        return own if matched is None else matched

    def times(self, weight: FloatArray | None) -> FloatArray | None:
        """What rows count by their annotators and by a ``weight`` of their own."""
        if self.weight is None or weight is None:
            return weight if self.weight is None else self.weight
        return self.weight * weight

    @property
    def labels(self) -> IntArray:
        """The most probable label of each row (n,), by its place."""
        found: IntArray = self.shares.argmax(axis=1).astype(
            np.min_scalar_type(self.shares.shape[1])
        )
        return found

    @property
    def targets(self) -> FloatArray | None:
        """How probable each class is; None where every row is sure of one: labels say it all."""
        sure = (self.shares == 0.0) | (self.shares == 1.0)
        return None if sure.all() else self.shares


def _labels_called(names: list[Any]) -> LabelArray:
    """Names of columns as labels; texts that are whole numbers stand for these, as in files."""
    if all(isinstance(name, str) and name.isdecimal() for name in names):
        numbers = [int(name) for name in names]
        # '007' is a name.
        if [str(number) for number in numbers] == names:
            return np.array(numbers)
    return as_label_array(names)


def has_label_columns(labels: ArrayLike, arguments: Arguments, *, counts: bool) -> bool:
    """Whether there is a column for each class; there has to be where these are ``counts``."""
    found = _has_columns(labels, arguments.labels)
    if counts and not found:
        raise ValueError(
            f"`counts` is True, but `{arguments.labels}` is one label for each row. Pass a column "
            "of counts for each class, or leave `counts` out."
        )
    return found


def _has_columns(labels: ArrayLike, name: str) -> bool:
    if nw.dependencies.is_into_dataframe(labels):
        return len(eager_frame(name, labels).columns) > 1
    shape = getattr(labels, "shape", None)
    if shape is None and isinstance(labels, list | tuple) and len(labels):
        first = labels[0]
        if isinstance(first, str | bytes | set | frozenset):
            return False
        inner = getattr(first, "shape", None)
        if inner is None and isinstance(first, list | tuple):
            inner = (len(first),)
        # Lists of lists of different lengths are several labels for each row.
        return (
            inner is not None
            and len(inner) == 1
            and inner[0] > 1
            and len({len(row) if hasattr(row, "__len__") else 0 for row in labels}) == 1
        )
    return shape is not None and len(shape) == 2 and shape[1] > 1


def as_soft_labels(
    labels: ArrayLike,
    weight: FloatArray | None,
    n_samples: int,
    arguments: Arguments,
    *,
    counts: bool,
) -> SoftLabels:
    """Soft labels (n, k): whole numbers are ``counts`` of annotators, others probabilities.

    Rows of ``weight`` zero may hold anything.
    """
    table, names = as_soft_table(labels, weight, n_samples, arguments)
    sums = table.sum(axis=1, dtype=np.float64)
    if counts or table.dtype.kind in "iub":
        return _of_counts(table, sums, names, arguments, counts=counts)
    return _of_probabilities(table, sums, names, arguments)


def as_soft_table(
    labels: ArrayLike, weight: FloatArray | None, n_samples: int, arguments: Arguments
) -> tuple[npt.NDArray[Any], LabelArray | None]:
    """Return finite numbers (n, k) that are not negative, and the names of their columns."""
    name, names = arguments.labels, None
    if nw.dependencies.is_into_dataframe(labels):
        frame = eager_frame(name, labels)
        given = np.array(list(frame.columns), dtype=object)
        names = None if given.tolist() == list(range(len(given))) else given
        labels = frame.to_numpy()
    refuse_masked(name, labels)
    refuse_sparse(name, labels)
    table = as_array(labels, name)
    if table.dtype.kind not in "fiub":
        raise ValueError(
            f"`{name}` has {table.shape[1]} columns of type {table.dtype}; got for example "
            f"{show(table[0])}. Soft labels are numbers: probabilities, or counts of annotators. "
            f"Otherwise pass one label for each row. (y should be a 1d array, got an array of "
            f"shape {table.shape} instead.)"
        )
    if len(table) != n_samples:
        raise ValueError(
            f"`{name}` has {len(table)} rows, but `{arguments.scores}` has {n_samples}. "
            "Pass a row of soft labels for each row."
        )
    if weight is not None and not weight.all():
        table = table.copy()
        table[weight == 0.0] = np.arange(table.shape[1]) == 0
    bad = ~np.isfinite(table) | (table < 0)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        what = "must not be negative" if np.isfinite(table[i, j]) else "must be finite"
        raise ValueError(
            f"`{name}` {what}; {arguments.row(i)}, {arguments.label_column(j)} is "
            f"{table[i, j]:.6g}. "
            "Pass probabilities that sum to one in each row, or counts of annotators; leave out "
            "rows without either."
        )
    return table, names


def _of_counts(
    table: npt.NDArray[Any],
    sums: FloatArray,
    names: LabelArray | None,
    arguments: Arguments,
    *,
    counts: bool,
) -> SoftLabels:
    off = sums != 1.0
    if not counts and off.any() and table.max() <= 1:
        i = int(off.argmax())
        raise _of_ones(arguments.row(i), float(sums[i]), arguments)
    if not sums.any():
        raise _of_nobody(arguments)
    return SoftLabels(_shares_of_counts(table, sums), sums if off.any() else None, names)


def _shares_of_counts(table: npt.NDArray[Any], sums: FloatArray) -> FloatArray:
    shares: FloatArray = table / np.where(sums > 0.0, sums, 1.0)[:, None]
    return shares


def _of_ones(row: str, total: float, arguments: Arguments) -> ValueError:
    return ValueError(
        f"`{arguments.labels}` holds only 0 and 1, and {row} sums to {total:g}. "
        f"{SEVERAL_LABELS} If these are counts of annotators, {_as_counts(arguments)}."
    )


def _of_nobody(arguments: Arguments) -> ValueError:
    return ValueError(
        f"`{arguments.labels}` is zero in every row: nobody has said anything. Pass counts."
    )


def _of_probabilities(
    table: npt.NDArray[Any], sums: FloatArray, names: LabelArray | None, arguments: Arguments
) -> SoftLabels:
    worst = _worst_sum(table, sums, arguments)
    if worst.warning:
        warn(worst.warning, RowSumWarning)
    shares = np.asarray(table, dtype=np.float64)
    if worst.miss > _SUM_ROUNDING:
        shares = shares / sums[:, None]
    return SoftLabels(shares, None, names)


def _worst_sum(table: npt.NDArray[Any], sums: FloatArray, arguments: Arguments) -> WorstSum:
    """Raise unless rows are probabilities; return by how much they miss a sum of one."""
    name = arguments.labels
    misses = np.abs(sums - 1.0)
    worst = int(misses.argmax())
    if misses[worst] > ROW_SUM_TOLERANCE + SUM_SLACK:
        fix = f"divide each by its sum; if these are counts of annotators, {_as_counts(arguments)}."
        if table.max() <= 1.0 and np.isin(table, (0.0, 1.0)).all():
            fix = f"{fix} {SEVERAL_LABELS}"
        raise ValueError(
            f"`{name}` has {table.shape[1]} columns, which are soft labels, whose rows must sum "
            f"to one; {arguments.row(worst)} sums to {sums[worst]:.6g}. Pass one label for each "
            f"row, or rows that sum to one: {fix}"
        )
    # Rows of half precision miss by more.
    if misses[worst] <= max(ROW_SUM_QUIET, rounding_of(table[worst])):
        return WorstSum(float(misses[worst]))
    return WorstSum(
        float(misses[worst]),
        f"`{name}` has rows that do not sum to one ({arguments.row(worst)} sums to "
        f"{sums[worst]:.6g}); they were renormalised.",
    )


@dataclass(frozen=True)
class SoftSummary:
    """Facts about soft labels of a part of a table, by which all parts are read alike.

    Parameters
    ----------
    n_annotators : float
        Sum of all numbers, times the weights of the rows.
    largest : float
        Largest number.
    are_whole : bool
        Whether all numbers are integers.
    are_certain : bool
        Whether each row has a single class.
    off : tuple of str and float, or None
        Place and sum of the first row that does not sum to one.
    error : str
        Why the rows are not probabilities; empty if they are.
    worst : WorstSum
        By how much the sums of probabilities miss one.
    """

    n_annotators: float
    largest: float
    are_whole: bool
    are_certain: bool
    off: tuple[str, float] | None
    error: str
    worst: WorstSum

    @classmethod
    def of(
        cls, table: FloatArray, weight: FloatArray | None, arguments: Arguments
    ) -> "SoftSummary":
        """Summarise soft labels (n, k), of one row at least."""
        table, _ = as_soft_table(table, weight, len(table), arguments)
        sums, error, worst = table.sum(axis=1), "", WorstSum(0.0)
        try:
            worst = _worst_sum(table, sums, arguments)
        except ValueError as refused:
            error = str(refused)
        off = np.flatnonzero(sums != 1.0)
        return cls(
            float(sums.sum() if weight is None else sums @ weight),
            float(table.max()),
            bool((table == np.floor(table)).all()),
            bool((np.count_nonzero(table, axis=1) <= 1).all()),
            (arguments.row(off[0]), float(sums[off[0]])) if len(off) else None,
            error,
            worst,
        )


@dataclass(frozen=True)
class SoftReading:
    """The way in which all parts of a table read their soft labels.

    ``are_counts`` tells whether numbers are annotators, who weigh a row; ``are_certain`` whether
    each row has a single class.
    """

    are_counts: bool
    are_certain: bool
    n_annotators: float

    @classmethod
    def agree(cls, parts: Sequence[SoftSummary], arguments: Arguments) -> "SoftReading":
        """Decide between counts and probabilities: counts are integers in all parts."""
        are_whole = all(part.are_whole for part in parts)
        total = sum(part.n_annotators for part in parts)
        off = next((part.off for part in parts if part.off is not None), None)
        if are_whole and off is not None and max(part.largest for part in parts) <= 1:
            raise _of_ones(*off, arguments)
        if are_whole and total == 0.0:
            raise _of_nobody(arguments)
        if not are_whole:
            error = next((part.error for part in parts if part.error), None)
            if error is not None:
                raise ValueError(error)
            worst = max((part.worst for part in parts), key=lambda each: each.miss)
            if worst.warning:
                warn(worst.warning, RowSumWarning)
        are_certain = all(part.are_certain for part in parts)
        return cls(are_whole and off is not None, are_certain, total)

    def read(
        self, table: FloatArray, weight: FloatArray | None
    ) -> tuple[IntArray, FloatArray | None, FloatArray | None]:
        """Return the most probable class, soft labels unless certain, and weights of the rows."""
        if weight is not None and not weight.all():
            table = table.copy()
            table[weight == 0.0] = np.arange(table.shape[1]) == 0
        sums = table.sum(axis=1)
        shares = _shares_of_counts(table, sums)
        soft = SoftLabels(shares, sums if self.are_counts else None, None)
        return soft.labels, None if self.are_certain else shares, soft.times(weight)


def _as_counts(arguments: Arguments) -> str:
    """How to say that numbers are counts."""
    name = arguments.labels
    if name == "y":
        return "pass counts=True, or an array of integers that are not all 0 or 1"
    if name.startswith("--"):
        return "write whole numbers, not all of them 0 or 1"
    return f"pass {name} / {name}.sum(axis=1, keepdims=True) and its row sums as `sample_weight`"


def check_soft_labels(
    labels: npt.NDArray[Any], weight: FloatArray | None, arguments: Arguments
) -> None:
    """Refuse what is neither probabilities nor counts."""
    as_soft_labels(labels, weight, len(labels), arguments, counts=False)


def refuse_soft_labels(name: str = "y_true") -> NoReturn:
    """Raise where one label for each row is needed."""
    raise ValueError(
        f"`{name}` holds soft labels, several with their probabilities for a row, but this looks "
        "at one label for each row. Pass that, for example the most frequent one, "
        f"`{name}.argmax(axis=1)`; losses and binned errors take soft labels."
    )
