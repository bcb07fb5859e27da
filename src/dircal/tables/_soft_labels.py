"""Soft labels: the probability of each class as the label of a row, or a number of annotators."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._typing import ArrayLike, FloatArray, IntArray, LabelArray
from dircal.tables._columns import Arguments, reject_ambiguous_columns
from dircal.tables._conversion import as_array, reject_masked, reject_sparse
from dircal.tables._labels import SEVERAL_LABELS, as_label_array, check_classes, show
from dircal.tables._names import match_names
from dircal.tables._values import RowSum, eager_frame

__all__ = [
    "SoftReading",
    "SoftSummary",
    "as_counts_if_whole",
    "as_soft_table",
    "has_label_columns",
    "labels_without_counts",
    "reject_soft_labels",
]

# Rows that miss one by the rounding of their sum are not divided by it.
_SUM_ROUNDING = 1e-12


@dataclass(frozen=True)
class SoftSummary:
    """Facts about the soft labels of a batch, by which all batches are read alike.

    Parameters
    ----------
    n_columns : int
        Number of columns.
    names : array (k,) or None
        Names of the columns of a data frame.
    n_annotators : float
        Sum of all numbers, times the weights of the rows.
    largest : float
        Largest number.
    are_whole : bool
        Whether the numbers are integers.
    are_certain : bool
        Whether each row has a single class.
    off : tuple of str and float, or None
        Place and sum of the first row that does not sum to one.
    worst : RowSum
        By how much the sums of probabilities miss one.
    """

    n_columns: int
    names: LabelArray | None
    n_annotators: float
    largest: float
    are_whole: bool
    are_certain: bool
    off: tuple[str, float] | None
    worst: RowSum

    @classmethod
    def of(
        cls,
        table: npt.NDArray[Any],
        names: LabelArray | None,
        weight: FloatArray | None,
        arguments: Arguments,
    ) -> "SoftSummary":
        """Summarise soft labels (n, k) from `as_soft_table`."""
        sums = table.sum(axis=1, dtype=np.float64)
        off = np.flatnonzero(sums != 1.0)
        return cls(
            table.shape[1],
            names,
            float(sums.sum() if weight is None else sums @ weight),
            float(table.max()),
            table.dtype.kind in "iub",
            bool((np.count_nonzero(table, axis=1) <= 1).all()),
            (arguments.row(off[0]), float(sums[off[0]])) if len(off) else None,
            _worst_sum(table, sums, arguments),
        )

    def labels(
        self,
        names: LabelArray | None,
        n_features: int,
        classes: Iterable[Any] | None,
        arguments: Arguments,
    ) -> LabelArray:
        """Return the label of each column, as far as names tell; ``names`` are of the scores."""
        k = self.n_columns
        if n_features != k and not (n_features == 1 and k == 2):
            raise ValueError(
                f"`{arguments.labels}` has {k} columns, but `{arguments.scores}` has {n_features}. "
                "Pass a column of soft labels for each column of scores, in the same order."
            )
        if classes is not None:
            # What the user passes; names of columns need not be labels then.
            return check_classes(classes)
        own = names if self.names is None and n_features == k else self.names
        return np.arange(k) if own is None else _labels_called(own.tolist())


@dataclass(frozen=True)
class SoftReading:
    """The way in which all batches of a table read their soft labels.

    Parameters
    ----------
    are_counts : bool
        Whether numbers are annotators, who weigh a row.
    are_certain : bool
        Whether each row has a single class.
    are_divided : bool
        Whether rows are divided by their sums.
    n_annotators : float
        Sum of all numbers, times the weights of the rows.
    order : array (k,) or None
        Positions of the columns in the order of the classes; None if they are in this order.
    """

    are_counts: bool
    are_certain: bool
    are_divided: bool
    n_annotators: float
    order: IntArray | None = None

    @classmethod
    def agree(
        cls, parts: Sequence[SoftSummary], arguments: Arguments, *, counts: bool = False
    ) -> "SoftReading":
        """Decide between counts and probabilities: integers in all batches are ``counts``, too."""
        are_whole = counts or all(part.are_whole for part in parts)
        total = sum(part.n_annotators for part in parts)
        off = next((part.off for part in parts if part.off is not None), None)
        is_divided = off is not None
        if not counts and are_whole and off and max(part.largest for part in parts) <= 1:
            raise _of_ones(*off, arguments)
        if are_whole and total == 0.0:
            raise _of_nobody(arguments)
        if not are_whole:
            is_divided = RowSum.settle(part.worst for part in parts) > _SUM_ROUNDING
        are_certain = all(part.are_certain for part in parts)
        return cls(are_whole and off is not None, are_certain, is_divided, total)

    def with_classes(
        self, names: LabelArray | None, labels: LabelArray, arguments: Arguments
    ) -> "SoftReading":
        """Assign columns to classes, by their ``names`` if these tell, else to these ``labels``."""
        if names is not None:
            matched = match_names(names, labels)
            if matched is None:
                reject_ambiguous_columns(names, labels, replace(arguments, scores=arguments.labels))
            labels = labels if matched is None else matched
        order = np.argsort(labels)
        return self if (order == np.arange(len(order))).all() else replace(self, order=order)

    def read(
        self, table: npt.NDArray[Any], weight: FloatArray | None
    ) -> tuple[IntArray, FloatArray | None, FloatArray | None]:
        """Return the most probable class, soft labels unless certain, and weights of the rows."""
        sums = table.sum(axis=1, dtype=np.float64)
        shares = np.asarray(table, dtype=np.float64)
        if self.are_divided:
            shares = shares / np.where(sums > 0.0, sums, 1.0)[:, None]
        if self.order is not None:
            shares = shares[:, self.order]
        labels: IntArray = shares.argmax(axis=1).astype(np.min_scalar_type(shares.shape[1]))
        if self.are_counts:
            weight = sums if weight is None else sums * weight
        return labels, None if self.are_certain else shares, weight


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
        raise labels_without_counts(arguments.labels)
    return found


def labels_without_counts(labels: str) -> ValueError:
    """Return the error about labels that are declared as counts and have a single column."""
    return ValueError(
        f"`counts` is True, but `{labels}` is one label for each row. Pass a column of counts for "
        "each class, or leave `counts` out."
    )


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
    reject_masked(name, labels)
    reject_sparse(name, labels)
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
            f"{table[i, j]:.6g}. Pass probabilities that sum to one in each row, or counts of "
            "annotators; leave out rows without either."
        )
    return table, names


def _of_ones(row: str, total: float, arguments: Arguments) -> ValueError:
    return ValueError(
        f"`{arguments.labels}` holds only 0 and 1, and {row} sums to {total:g}. "
        f"{SEVERAL_LABELS} If these are counts of annotators, {_as_counts(arguments)}."
    )


def _of_nobody(arguments: Arguments) -> ValueError:
    return ValueError(
        f"`{arguments.labels}` is zero in every row: nobody has said anything. Pass counts."
    )


def as_counts_if_whole(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers as integers if all of them are, as in files that have one type of numbers."""
    is_whole = np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()
    return numbers.astype(np.int64) if is_whole else numbers


def _worst_sum(table: npt.NDArray[Any], sums: FloatArray, arguments: Arguments) -> RowSum:
    """Compare the sums of rows with one."""
    worst = int(np.abs(sums - 1.0).argmax())
    name, row, total = arguments.labels, arguments.row(worst), float(sums[worst])
    found = RowSum.of(name, row, total, table[worst])
    if not found.error:
        return found
    fix = f"divide each by its sum; if these are counts of annotators, {_as_counts(arguments)}."
    if table.max() <= 1.0 and np.isin(table, (0.0, 1.0)).all():
        fix = f"{fix} {SEVERAL_LABELS}"
    error = (
        f"`{name}` has {table.shape[1]} columns, which are soft labels, whose rows must sum to "
        f"one; {row} sums to {total:.6g}. Pass one label for each row, or rows that sum to one: "
        f"{fix}"
    )
    return replace(found, error=error)


def _as_counts(arguments: Arguments) -> str:
    """How to say that numbers are counts."""
    name = arguments.labels
    if name == "y":
        return "pass counts=True, or an array of integers that are not all 0 or 1"
    if name.startswith("--"):
        return "write whole numbers, not all of them 0 or 1"
    return f"pass {name} / {name}.sum(axis=1, keepdims=True) and its row sums as `sample_weight`"


def reject_soft_labels(name: str = "y_true") -> NoReturn:
    """Raise where one label for each row is needed."""
    raise ValueError(
        f"`{name}` holds soft labels, several with their probabilities for a row, but this looks "
        "at one label for each row. Pass that, for example the most frequent one, "
        f"`{name}.argmax(axis=1)`; losses and binned errors take soft labels."
    )
