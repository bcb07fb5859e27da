"""Rows of a table as its columns have them: scores, labels, weights and groups."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dircal._core.data.parts import Part
from dircal._progress import Progress
from dircal._typing import InputScale, LabelArray
from dircal.exceptions import DircalWarning, warn
from dircal.tables._batches import AbstractBatch, BatchRows
from dircal.tables._column_choice import ClassColumns, Wording
from dircal.tables._columns import FITTING, Arguments
from dircal.tables._conversion import NamedScores, as_array
from dircal.tables._labels import as_labels, is_missing
from dircal.tables._limits import LIMITS
from dircal.tables._raw_rows import Agreement, PartSummary, RawRows, common_labels
from dircal.tables._soft_labels import as_counts_if_whole
from dircal.tables._unchanged import unchanged
from dircal.tables._values import as_matrix

__all__ = [
    "CheckedPart",
    "PartReader",
    "RowReader",
    "SoftColumns",
    "TableRows",
    "empty_labels",
    "find_soft_columns",
    "load",
    "no_labels",
    "observed_labels",
    "parse_whole_numbers",
    "warn_of_left_out",
]

if TYPE_CHECKING:
    from dircal.tables._score_table import ScoreTable


# 007 is a name, and more digits than this do not fit an integer.
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.0+)?")


@dataclass(frozen=True)
class TableRows:
    """Rows of a table in memory, of which those without a label are left out.

    Parameters
    ----------
    named_scores : NamedScores or None
        Scores, mapped if they are an NPY file, and names of their columns.
    labels : array (n,), (n, k) or None
        Labels; soft ones have columns in the order of the scores.
    weight, group : array (n,) or None
        Weights and groups of the rows.
    place : callable
        Names a row in a message, by its number among these.
    n_rows, n_left_out : int
        Number of these rows, and of those that are left out.
    """

    named_scores: NamedScores | None
    labels: Any
    weight: Any
    group: Any
    place: Callable[[int], str] = field(repr=False)
    n_rows: int
    n_left_out: int = 0

    @property
    def scores(self) -> npt.NDArray[Any]:
        """Scores (n, k)."""
        assert self.named_scores is not None
        return self.named_scores.matrix

    @property
    def has_counts(self) -> bool:
        """Whether the labels are numbers of annotators."""
        return bool(self.labels.ndim == 2 and self.labels.dtype.kind == "i")

    @classmethod
    def joined(cls, parts: Sequence["TableRows"]) -> "TableRows":
        """Join the rows of batches, all of which have rows."""
        if len(parts) == 1:
            return parts[0]
        named = [part.named_scores for part in parts if part.named_scores is not None]
        labels = _joined([part.labels for part in parts])
        return cls(
            NamedScores(_joined([one.matrix for one in named]), named[0].names) if named else None,
            labels if labels is None else _as_plain_integers(labels),
            _joined([part.weight for part in parts]),
            _joined([part.group for part in parts]),
            _Places(parts),
            sum(part.n_rows for part in parts),
            sum(part.n_left_out for part in parts),
        )


@dataclass(frozen=True)
class RowReader:
    """Reads the rows of batches that have a label.

    Parameters
    ----------
    where : str
        What messages call the table.
    words : Wording
        Names of the options in messages.
    scores : tuple of str
        Columns with the scores.
    label : str or None
        Column with the labels.
    skip_unlabelled : bool
        Whether rows without a label are left out.
    soft : SoftColumns or None
        Columns with soft labels.
    weight, group : str or None
        Columns with weights and groups.
    are_integers : bool
        Whether the labels of a text file are integers.
    shares_annotators : bool
        Whether counts of annotators become shares, so that every row counts once.
    """

    where: str
    words: Wording
    scores: tuple[str, ...]
    label: str | None
    skip_unlabelled: bool
    soft: "SoftColumns | None" = None
    weight: str | None = None
    group: str | None = None
    are_integers: bool = False
    shares_annotators: bool = False

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.scores, *self._others, *self._numbers]

    @property
    def _others(self) -> list[str]:
        return [name for name in (self.label, self.group) if name is not None]

    @property
    def _numbers(self) -> list[str]:
        names = () if self.soft is None else self.soft.names
        return [*names, *([] if self.weight is None else [self.weight])]

    def read(self, batch: AbstractBatch) -> TableRows:
        """Read a batch; rows without a label are left out, or an error."""
        rows = batch.read(self.scores, self._others, self._numbers)
        if rows.n_rows == 0:
            return TableRows(None, None, None, None, rows.place, 0)
        labels, is_known = self._labels(rows)
        weight, group = (
            None if name is None else rows.others[name] for name in (self.weight, self.group)
        )
        scores = NamedScores(*as_matrix(rows.scores, self.where)) if self.scores else None
        if is_known.all():
            return TableRows(scores, labels, weight, group, rows.place, rows.n_rows)
        kept = np.flatnonzero(is_known)
        return TableRows(
            None if scores is None else NamedScores(scores.matrix[kept], scores.names),
            labels,
            None if weight is None else as_array(weight)[kept],
            None if group is None else as_array(group)[kept],
            partial(_place_of_kept, rows.place, kept),
            len(kept),
            rows.n_rows - len(kept),
        )

    def _labels(self, rows: BatchRows) -> tuple[Any, npt.NDArray[np.bool_]]:
        """Labels of the rows that have one, and which rows these are."""
        if self.soft is not None:
            return self._soft_labels([as_array(rows.others[name]) for name in self.soft.names])
        if self.label is None:
            return None, np.ones(rows.n_rows, bool)
        labels = rows.others[self.label]
        if np.ndim(labels) != 1:
            raise ValueError(
                f"{self.label!r} must have one label for each row; got shape {np.shape(labels)}."
            )
        missing = empty_labels(labels)
        if missing.any():
            if not self.skip_unlabelled:
                raise ValueError(
                    f"{rows.place(int(missing.argmax()))}, column {self.label!r} is empty. Leave "
                    f"out the rows without a label{self.words.skip and ', or pass '}"
                    f"{self.words.skip}."
                )
            labels = _as_plain_integers(as_array(labels)[~missing])
        _check_length(labels, rows.place, self.label)
        if getattr(getattr(labels, "dtype", None), "kind", "") == "S":
            labels = self._decoded(labels)
        whole = parse_whole_numbers(labels) if self.are_integers else None
        return labels if whole is None else whole, ~missing

    def _soft_labels(
        self, columns: Sequence[npt.NDArray[Any]]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Leave out rows without a soft label: all zero, or empty if such rows are left out."""
        assert self.soft is not None
        numbers = as_matrix(np.column_stack(columns), "labels")[0]
        if self.soft.order is not None:
            numbers = numbers[:, self.soft.order]
        known = np.nan_to_num(numbers) if self.skip_unlabelled else numbers
        is_known = (known != 0.0).any(axis=1)
        labels = as_counts_if_whole(numbers[is_known])
        if self.shares_annotators and labels.dtype.kind == "i":
            labels = labels / labels.sum(axis=1, keepdims=True)
        return labels, is_known

    def _decoded(self, labels: npt.NDArray[Any]) -> LabelArray:
        try:
            return np.char.decode(labels, "utf-8")
        except UnicodeDecodeError:
            raise ValueError(
                f"{self.words.label} {self.label!r} holds bytes that are not text in UTF-8. Save "
                "the labels as text."
            ) from None


@dataclass(frozen=True)
class SoftColumns:
    """Columns of soft labels in the order of the scores, which are ``found``.

    The columns of an array have to be put in ``order``.
    """

    names: tuple[str, ...]
    found: ClassColumns
    order: tuple[int, ...] | None = None


def find_soft_columns(table: "ScoreTable") -> SoftColumns:
    """Find the columns with soft labels and those with scores."""
    columns = table.columns
    assert table.label_columns is not None
    if columns.by_nature is None:
        stems = columns.label_positions(table.label_columns, columns.words.label_columns)
        classes = _soft_classes(table, list(stems), len(stems))
        found = table.find(classes, list(stems.values()))
        names = [columns.names[i] for i in stems.values()]
        return SoftColumns(tuple(names[i] for i in _order_of(found, classes)), found)
    name = table.label_columns
    name = name if isinstance(name, str) else name[0]
    [batch] = table.batches
    numbers = batch.read((), (), (name,)).others[name]
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiub":
        raise ValueError(
            f"{columns.words.label_columns}: the array {name!r} must be numbers with a column for "
            f"each class; got {numbers.dtype} of shape {numbers.shape}."
        )
    classes = _soft_classes(table, None, numbers.shape[1])
    found = table.find(classes)
    return SoftColumns((name,), found, tuple(_order_of(found, classes)))


def _order_of(found: ClassColumns, classes: LabelArray) -> list[int]:
    """Places of the labels of the scores among ``classes``."""
    return [classes.tolist().index(label) for label in found.classes.tolist()]


def _soft_classes(table: "ScoreTable", names: list[str] | None, n_classes: int) -> LabelArray:
    """Labels of the columns of soft labels: as passed, or what the columns are called after."""
    words = table.columns.words
    texts = names if table.classes is None else list(table.classes)
    if texts is None:
        return np.arange(n_classes)
    if len(texts) != n_classes:
        raise ValueError(
            f"{words.classes} names {len(texts)} labels, but {words.label_columns} {n_classes} "
            "columns. Name the label of each, in their order."
        )
    if all(isinstance(text, str) and text.lstrip("-").isdecimal() for text in texts):
        return np.array([int(text) for text in texts])
    return np.array(texts)


def load(table: "ScoreTable", *, has_scores: bool = True) -> TableRows:
    """Load the rows of a table into memory, with their scores unless there are none."""
    with unchanged(*table.files):
        found = table.found.positions if has_scores else []
        reader, parts = table.reader([table.columns.names[i] for i in found]), []
        with Progress("Reading", len(table.batches), "parts") as progress:
            for batch in table.batches:
                parts.append(reader.read(batch))
                progress.advance(1)
        full = [part for part in parts if part.n_rows]
        if not full:
            raise no_labels(table, sum(part.n_left_out for part in parts))
        joined = TableRows.joined(full)
        return replace(joined, n_left_out=sum(part.n_left_out for part in parts))


def observed_labels(table: "ScoreTable") -> LabelArray:
    """The distinct labels of a table, sorted; integers if all labels of text files are."""
    assert table.label is not None
    found, n_rows, arguments = [], 0, replace(FITTING, labels=table.label)
    if table.dask_frame is not None:
        column = table.dask_frame[table.label].dropna().unique()
        distinct = (
            column.compute() if table.client is None else table.client.compute(column).result()
        )
        found.append(as_labels(distinct, len(distinct), arguments))
    reader = RowReader(table.where, table.columns.words, (), table.label, table.skip_unlabelled)
    with unchanged(*table.files):
        for batch in table.batches:
            rows = reader.read(batch)
            n_rows += rows.n_rows + rows.n_left_out
            if rows.n_rows == 0:
                continue
            distinct = _distinct(rows.labels)
            try:
                found.append(np.unique(as_labels(distinct, len(distinct), arguments)))
            except ValueError as error:
                where = f" (In {batch.name}.)" if len(table.batches) > 1 else ""
                raise ValueError(f"{error}{where}") from error
    if not found:
        raise no_labels(table, n_rows)
    classes = common_labels(found, arguments)
    # Strings as NumPy's own: files and messages have them so.
    classes = classes.astype(str) if classes.dtype.kind == "O" else classes
    has_text = bool(table.batches) and table.batches[0].has_text_labels
    whole = parse_whole_numbers(classes) if has_text else None
    return classes if whole is None else np.unique(whole)


def _distinct(labels: Any) -> npt.NDArray[Any]:
    """Return each label once, if labels can be compared."""
    array = as_array(labels)
    try:
        if array.dtype.kind == "O":
            return np.fromiter(set(array.tolist()), dtype=object)
        return np.unique(array)
    except TypeError:
        return array


def no_labels(table: "ScoreTable", n_left_out: int) -> ValueError:
    """Return the error about a table without rows, or whose rows have no labels."""
    words = table.columns.words
    if n_left_out == 0:
        return ValueError(f"{table.where} has no rows. Pass predictions with their labels.")
    what = words.label if table.label_columns is None else words.label_columns
    return ValueError(f"{table.where} has no row with a label. Pass another column: {what}.")


def warn_of_left_out(n_left_out: int, n_rows: int) -> None:
    """Warn that some of all rows have no label."""
    if n_left_out:
        warn(f"{n_left_out:,} of {n_rows:,} rows have no label and are left out.", DircalWarning)


def empty_labels(values: Any) -> npt.NDArray[np.bool_]:
    """Which labels are missing: empty strings, None, NaN and NaT."""
    array = as_array(values)
    if array.dtype.kind in "US":
        return np.asarray(np.char.str_len(np.char.strip(array)) == 0)
    if array.dtype.kind == "O":
        return np.array([not x.strip() if isinstance(x, str) else is_missing(x) for x in array])
    # NaN and NaT differ from themselves.
    return np.asarray(array != array)


def parse_whole_numbers(texts: Any) -> LabelArray | None:
    """Return integers if all strings are such; None otherwise."""
    values = np.asarray(texts).tolist()
    distinct = set(values)
    if not all(map(_WHOLE_NUMBER.fullmatch, distinct)):
        return None
    numbers = {text: int(text.partition(".")[0]) for text in distinct}
    return np.array([numbers[text] for text in values])


def _as_plain_integers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as integers if they are objects because some were missing."""
    if labels.dtype.kind == "O" and set(map(type, labels.tolist())) == {int}:
        return np.array(labels.tolist())
    return labels


def _check_length(values: Any, place: Callable[[int], str], label: str) -> None:
    """Raise if a label is too long: every label of an array takes as much as the longest."""
    array, limit = as_array(values), LIMITS.text_length
    for row, value in enumerate(array.tolist() if array.dtype.kind == "O" else ()):
        if isinstance(value, str) and len(value) > limit:
            raise ValueError(
                f"{place(row)}, column {label!r} contains a label of {len(value):,} characters; at "
                f"most {limit:,} are read. Check which column has the labels."
            )


def _joined(parts: Sequence[Any]) -> Any:
    """Columns of several batches as one; None if they have none."""
    return None if parts[0] is None else np.concatenate([as_array(part) for part in parts])


def _place_of_kept(place: Callable[[int], str], kept: npt.NDArray[np.intp], row: int) -> str:
    return place(int(kept[row]))


class _Places:
    """Names rows in messages by their batch and their number there."""

    def __init__(self, parts: Sequence[TableRows]) -> None:
        self._starts = np.cumsum([0, *(part.n_rows for part in parts)])
        self._places = [part.place for part in parts]

    def __call__(self, row: int) -> str:
        batch = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._places[batch](row - int(self._starts[batch]))


@dataclass(frozen=True)
class CheckedPart:
    """A part that was read, and its summary."""

    raw: RawRows | None
    summary: PartSummary

    def __sizeof__(self) -> int:
        # Dask asks, to know how much it holds.
        return object.__sizeof__(self) + (0 if self.raw is None else self.raw.n_bytes)


@dataclass(frozen=True)
class PartReader:
    """Reads and checks batches.

    Parameters
    ----------
    rows : RowReader
        Reads the rows.
    input_scale : {"probability", "logit"}
        Scale of the scores.
    arguments : Arguments
        Names of the arguments in messages.
    """

    rows: RowReader
    input_scale: InputScale
    arguments: Arguments

    def check(self, batch: AbstractBatch) -> CheckedPart:
        """Read a batch, and summarise it.

        Errors are part of the summary: of several, that of the first batch is raised, whichever is
        read first.
        """
        place: Callable[[int], str] = batch.place
        try:
            raw, n_left_out = self.read(batch)
            if raw is None:
                return CheckedPart(None, PartSummary(n_left_out=n_left_out))
            place = raw.arguments.row
            arguments = replace(self.arguments, row=place)
            summary = raw.summary(arguments)
            worst = raw.worst_sum(self.input_scale, arguments)
            return CheckedPart(raw, replace(summary, worst=worst, n_left_out=n_left_out))
        except ValueError as error:
            text = str(error)
            where = "" if place(0).partition(" of ")[2] in text else f" (In {batch.name}.)"
            return CheckedPart(None, PartSummary(error=text + where))

    def read(self, batch: AbstractBatch) -> tuple[RawRows | None, int]:
        """Read the arrays of a batch, None without rows; and count the rows that are left out."""
        rows = self.rows.read(batch)
        if rows.n_rows == 0:
            return None, rows.n_left_out
        arguments = replace(self.arguments, row=rows.place)
        raw = RawRows.of(rows.named_scores, rows.labels, rows.weight, arguments)
        return raw, rows.n_left_out

    def part(self, raw: RawRows, agreed: Agreement, first: int, *, keeps: bool) -> Part:
        """Make a part that begins at row ``first`` of all, with columns assigned to classes."""
        return Part(
            first, raw.assign(agreed, self.input_scale), raw.arguments.row, {} if keeps else None
        )
