"""The rows of a table, loaded into memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dircal._progress import Progress
from dircal._typing import FloatArray, LabelArray
from dircal.exceptions import DircalWarning, warn
from dircal.tables._array_files import ArrayFile, read_label_file
from dircal.tables._batches import BatchRows
from dircal.tables._column_choice import ClassColumns
from dircal.tables._columns import FITTING
from dircal.tables._conversion import NamedScores, as_array
from dircal.tables._known_labels import (
    KnownLabels,
    LabelReader,
    as_plain_integers,
    parse_whole_numbers,
)
from dircal.tables._label_types import show
from dircal.tables._labels import as_labels
from dircal.tables._raw_rows import common_labels
from dircal.tables._unchanged import unchanged
from dircal.tables._values import as_matrix

if TYPE_CHECKING:
    from dircal.tables._score_table import ScoreTable

__all__ = [
    "LoadedRows",
    "load",
    "load_labels",
    "observed_labels",
]


@dataclass(frozen=True)
class LoadedRows:
    """The rows of a table in memory.

    Parameters
    ----------
    scores : array (n, c)
        Scores; that of an NPY file is mapped.
    names : list of str
        Names of the columns of the scores.
    found : ClassColumns
        Positions of the columns of the scores, and their labels.
    labels : array (n,), (n, k) or None
        Labels; soft ones have columns in the order of the classes.
    weight, group : array (n,) or None
        Weights and groups of the rows.
    place : callable
        Names a row in a message, by its number among these.
    has_names : bool
        Whether the columns have names that tell more than their numbers.
    n_left_out : int
        Number of rows without a label, which are left out.
    """

    scores: npt.NDArray[Any]
    names: list[str]
    found: ClassColumns
    labels: Any
    weight: FloatArray | None
    group: Any
    place: Callable[[int], str] = field(repr=False)
    has_names: bool = True
    n_left_out: int = 0

    @property
    def classes(self) -> LabelArray:
        """Label of each column, or both labels if there is one column."""
        return self.found.classes

    def scores_of(self, classes: LabelArray) -> npt.NDArray[Any]:
        """Return the scores with columns in the order of ``classes``."""
        own, wanted = self.classes.tolist(), classes.tolist()
        is_single = self.scores.shape[1] == 1
        if {*own} != {*wanted} or (is_single and own != wanted):
            raise ValueError(
                f"the tables have other classes: {show(classes)} and {show(self.classes)}. Name "
                "the columns of the scores, and their classes."
            )
        return self.scores if is_single else self.scores[:, [own.index(label) for label in wanted]]

    @property
    def has_counts(self) -> bool:
        """Whether the labels are numbers of annotators."""
        return bool(self.labels.ndim == 2 and self.labels.dtype.kind == "i")

    def warn_of_left_out(self) -> None:
        """Warn if rows were left out."""
        warn_of_left_out(self.n_left_out, self.n_left_out + len(self.scores))

    @property
    def named_scores(self) -> NamedScores:
        """The scores with the names of their columns."""
        names = np.array(self.names, dtype=object) if self.has_names else None
        return NamedScores(self.scores, names)


def load(table: "ScoreTable") -> LoadedRows:
    """Load the rows of a table: labels first, since they tell which columns are the scores."""
    with unchanged(*table.files):
        if table.label_columns is not None:
            return _load_soft(table)
        labels, kept = _labels_of(table)
        if table.label is None:
            found = table.find(np.asarray(table.classes))
        else:
            found = table.find(distinct_labels(labels, table.label))
        return _load_scores(table, found, labels, kept)


def load_labels(table: "ScoreTable") -> LabelArray:
    """Load the labels of a table alone."""
    with unchanged(*table.files):
        labels: LabelArray = _labels_of(table)[0]
    return labels


def _load_scores(
    table: "ScoreTable",
    found: ClassColumns,
    labels: Any,
    kept: npt.NDArray[np.intp] | None,
) -> LoadedRows:
    names = [table.columns.names[i] for i in found.positions]
    others = [] if table.group is None else [table.group]
    parts, weights = [], []
    with Progress("Reading", len(table.batches), "parts") as progress:
        for batch in table.batches:
            parts.append(batch.read(names, others))
            if table.weight is not None:
                weights.append(batch.numbers(table.weight))
            progress.advance(1)
    matrices = [as_matrix(part.scores, table.where)[0] for part in parts if part.n_rows]
    if not matrices:
        raise ValueError(f"{table.where} has no rows. Pass predictions.")
    scores = matrices[0] if len(matrices) == 1 else np.concatenate(matrices)
    group = None if table.group is None else _joined([part.others[table.group] for part in parts])
    weight = np.concatenate(weights) if weights else None
    place, n_rows = _Places(parts, kept), len(scores)
    if kept is not None:
        scores = scores[kept]
        weight = None if weight is None else weight[kept]
        group = None if group is None else as_array(group)[kept]
    n_left_out = n_rows - len(scores)
    has_names = table.columns.by_nature is None
    return LoadedRows(scores, names, found, labels, weight, group, place, has_names, n_left_out)


def _load_soft(table: "ScoreTable") -> LoadedRows:
    """Load rows with soft labels: a column for each class."""
    assert table.label_columns is not None
    if table.columns.by_nature is not None:
        name = table.label_columns
        numbers = _label_array(table, name if isinstance(name, str) else name[0])
        classes = _soft_classes(table, None, numbers.shape[1])
        found = table.find(classes)
        numbers = numbers[:, _order_of(found, classes)]
        given = [numbers]
    else:
        names, found = soft_columns(table)
        parts = [batch.read(names, ()) for batch in table.batches]
        given = [as_matrix(part.scores, "labels")[0] for part in parts if part.n_rows]
    reader = LabelReader((), table.skip_unlabelled, table.columns.words)
    labels, kept = _joined_labels([reader.read_soft(numbers) for numbers in given], table)
    if table.annotators_share and labels.dtype.kind == "i":
        labels = labels / labels.sum(axis=1, keepdims=True)
    return _load_scores(table, found, labels, kept)


def soft_columns(table: "ScoreTable") -> tuple[list[str], ClassColumns]:
    """Find the columns with soft labels, in the order of the scores, and those with scores."""
    columns = table.columns
    assert table.label_columns is not None
    stems = columns.label_positions(table.label_columns, columns.words.label_columns)
    classes = _soft_classes(table, list(stems), len(stems))
    found = table.find(classes, list(stems.values()))
    names = [columns.names[i] for i in stems.values()]
    return [names[i] for i in _order_of(found, classes)], found


def _order_of(found: ClassColumns, classes: LabelArray) -> list[int]:
    """Places of the labels of the scores among ``classes``."""
    return [classes.tolist().index(label) for label in found.classes.tolist()]


def no_rows(table: "ScoreTable") -> ValueError:
    """Return the error about a table without rows."""
    return ValueError(f"{table.where} has no rows. Pass predictions with their labels.")


def no_labels(table: "ScoreTable") -> ValueError:
    """Return the error about a table without labels."""
    words = table.columns.words
    what = words.label if table.label_columns is None else words.label_columns
    return ValueError(f"{table.where} has no row with a label. Pass another column: {what}.")


def warn_of_left_out(n_left_out: int, n_rows: int) -> None:
    """Warn that rows have no label."""
    if n_left_out:
        warn(f"{n_left_out:,} of {n_rows:,} rows have no label and are left out.", DircalWarning)


def _label_array(table: "ScoreTable", name: str) -> npt.NDArray[Any]:
    """A second array, in the same NPZ file or in an NPY file."""
    argument, [batch] = table.columns.words.label_columns, table.batches
    file: ArrayFile = batch.file  # type: ignore[attr-defined]
    numbers: npt.NDArray[Any]
    if name.endswith(".npy"):
        numbers = np.load(name, allow_pickle=False)
    elif name in file.arrays:
        numbers = file.read(name)
    else:
        raise ValueError(
            f"{argument}: {table.where} has no array {name!r}; it has "
            f"{', '.join(map(repr, file.arrays))}."
        )
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiub" or len(numbers) != file.n_rows:
        raise ValueError(
            f"{argument}: the array {name!r} must be numbers with a row for each of the "
            f"{file.n_rows} rows and a column for each class; got {numbers.dtype} of shape "
            f"{numbers.shape}."
        )
    array: npt.NDArray[Any] = numbers
    return array


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


def _labels_of(table: "ScoreTable") -> tuple[Any, npt.NDArray[np.intp] | None]:
    """Return the labels, and the rows that have one; None if all have."""
    label = table.label
    if label is None:
        return None, None
    if table.is_label_file(label):
        labels = _label_file(table, Path(label))
        batches = [BatchRows(None, {label: labels}, len(labels), "row {}".format)]
    else:
        batches = [batch.read((), (label,)) for batch in table.batches]
    reader = LabelReader(label, table.skip_unlabelled, table.columns.words)
    labels, kept = _joined_labels([reader.read(rows) for rows in batches if rows.n_rows], table)
    return typed_labels(labels, table), kept


def _joined_labels(
    parts: Sequence[KnownLabels], table: "ScoreTable"
) -> tuple[Any, npt.NDArray[np.intp] | None]:
    """Join the labels of batches, and the numbers of the rows that have one."""
    if not parts:
        raise no_rows(table)
    every = KnownLabels((), np.concatenate([part.is_known for part in parts]))
    labels = [part.labels for part in parts if len(part.labels)]
    if not labels:
        raise no_labels(table)
    joined, kept = _joined(labels), every.kept
    return joined if kept is None else as_plain_integers(as_array(joined)), kept


def _label_file(table: "ScoreTable", path: Path) -> LabelArray:
    with unchanged(path):
        labels = read_label_file(path)
    n_rows = table.batches[0].n_rows  # type: ignore[attr-defined]
    if len(labels) != n_rows:
        raise ValueError(
            f"{str(path)!r} has {len(labels)} labels, but {table.where} has {n_rows} rows. "
            "Pass one label for each row."
        )
    return labels


def typed_labels(labels: Any, table: "ScoreTable") -> Any:
    """Return labels as what they stand for: text of integers, as in CSV, is integers."""
    if hasattr(labels, "dtype") and getattr(labels.dtype, "kind", "") == "S":
        try:
            labels = np.char.decode(labels, "utf-8")
        except UnicodeDecodeError:
            raise ValueError(
                f"{table.columns.words.label} {table.label!r} holds bytes that are not text in "
                "UTF-8. Save the labels as text."
            ) from None
    if table.batches[0].has_text_labels:
        whole = parse_whole_numbers(labels)
        labels = labels if whole is None else whole
    return labels


def distinct_labels(labels: Any, name: str) -> LabelArray:
    """Return the distinct labels, sorted; raise if they have no order."""
    try:
        distinct = np.unique(labels)
    except TypeError:
        distinct = labels
    return np.unique(as_labels(distinct, len(distinct), replace(FITTING, labels=name)))


def observed_labels(table: "ScoreTable") -> LabelArray:
    """The distinct labels of a table, sorted."""
    if table.is_in_memory:
        return distinct_labels(table.labels, str(table.label))
    assert table.label is not None
    found, arguments = [], replace(FITTING, labels=table.label)
    if table.dask_frame is not None:
        column = table.dask_frame[table.label].dropna().unique()
        distinct = (
            column.compute() if table.client is None else table.client.compute(column).result()
        )
        found.append(as_labels(distinct, len(distinct), arguments))
    n_rows, reader = 0, LabelReader(table.label, table.skip_unlabelled, table.columns.words)
    for batch in table.batches:
        rows = batch.read((), (table.label,))
        n_rows += rows.n_rows
        if rows.n_rows == 0:
            continue
        labels = as_array(reader.read(rows).labels)
        if len(labels):
            try:
                found.append(np.unique(as_labels(labels, len(labels), arguments)))
            except ValueError as error:
                raise ValueError(f"{error} (In {batch.name}.)") from error
    if not found:
        raise no_labels(table) if n_rows else no_rows(table)
    classes = common_labels(found, arguments)
    # Strings as NumPy's own: files and messages have them so.
    return classes.astype(str) if classes.dtype.kind == "O" else classes


def _joined(parts: Sequence[Any]) -> Any:
    """Columns of several batches as one; a single one is unchanged, with its categories."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([as_array(part) for part in parts])


class _Places:
    """Names rows in messages by their batch and their number there."""

    def __init__(self, parts: Sequence[BatchRows], kept: npt.NDArray[np.intp] | None) -> None:
        self._starts = np.cumsum([0, *(part.n_rows for part in parts)])
        self._places = [part.place for part in parts]
        self._kept = kept

    def __call__(self, row: int) -> str:
        row = row if self._kept is None else int(self._kept[row])
        batch = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._places[batch](row - int(self._starts[batch]))
