"""A table of scores: columns with roles, and rows in batches, wherever they lie."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from dircal._table_files import file_kind, files_of
from dircal._typing import LabelArray
from dircal.tables._array_files import ArrayFile
from dircal.tables._batches import (
    AbstractBatch,
    ArrayBatch,
    BatchRows,
    FrameBatch,
    TextBatch,
    row_groups,
)
from dircal.tables._column_choice import PYTHON, ClassColumns, TableColumns, Wording
from dircal.tables._columns import Arguments
from dircal.tables._labels import show
from dircal.tables._limits import LIMITS, TableLimits
from dircal.tables._names import label_text
from dircal.tables._text import TextFile

# What reads rows needs scikit-learn, and is imported after the columns are found.
if TYPE_CHECKING:
    from dircal.tables._reading import RowReader, SoftColumns, TableRows

__all__ = ["ScoreTable", "scan", "scan_files", "with_common_classes"]


@dataclass(frozen=True)
class ScoreTable:
    """Rows with scores and labels: a data frame, files or a Dask data frame.

    Make it with `dircal.scan`. Only the names of the columns are read before it is used.

    Parameters
    ----------
    where : str
        What messages call the table.
    columns : TableColumns
        All columns.
    batches : tuple of AbstractBatch
        Rows that are read together.
    label, weight, group : str or None
        Columns with the labels, weights and groups.
    label_columns : str, sequence of str or None
        Columns with soft labels, or a pattern with a star.
    scores : str, sequence of str or None
        Columns with the scores, or a pattern; None stands for those called like the labels.
    classes : sequence or None
        Label of each column of scores.
    skip_unlabelled : bool
        Whether rows without a label are left out.
    client : distributed.Client or None
        Client of the Dask cluster that reads the batches.
    dask_frame : Dask DataFrame or None
        The table, if it is one; it then has no batches.
    files : tuple of Path
        Files that must not change while they are read.
    limits : TableLimits
        Sizes by which the table is read.
    on_rows : callable or None
        Called with the number of rows that were read.
    annotators_share : bool
        Whether counts of annotators become shares, so that every row counts once.
    """

    where: str
    columns: TableColumns = field(repr=False)
    batches: tuple[AbstractBatch, ...] = field(repr=False)
    label: str | None = None
    label_columns: str | Sequence[str] | None = None
    scores: str | Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    weight: str | None = None
    group: str | None = None
    skip_unlabelled: bool = False
    client: Any = field(default=None, repr=False)
    dask_frame: Any = field(default=None, repr=False)
    files: tuple[Path, ...] = field(default=(), repr=False)
    limits: TableLimits = field(default=LIMITS, repr=False)
    on_rows: Callable[[int], None] | None = field(default=None, repr=False)
    annotators_share: bool = False

    def __post_init__(self) -> None:
        """Raise if a column is not there, or is named for two purposes."""
        words, columns = self.columns.words, self.columns
        lists = (self.scores, words.scores), (self.label_columns, words.label_columns)
        single = (self.label, words.label), (self.weight, words.weight), (self.group, words.group)
        for name, argument in single:
            if name is not None and not self.is_label_file(name):
                columns.position(name, argument)
        for names, argument in lists if columns.by_nature is None else ():
            columns.check_names(names, argument)
        roles: dict[str, str] = {}
        for names, argument in (*single, *lists):
            for name in [names] if isinstance(names, str) else names or ():
                if roles.setdefault(name, argument) != argument:
                    raise ValueError(
                        f"{argument} names the column {name!r}, which {roles[name]} names as well. "
                        "Pass each column for one purpose."
                    )

    def is_label_file(self, name: str) -> bool:
        """Whether labels are in an NPY file next to an array of scores."""
        is_file = name == self.label and name.endswith(".npy") and name not in self.columns.names
        return is_file and self.columns.by_nature is not None

    @property
    def is_in_memory(self) -> bool:
        """Whether the rows are loaded into memory when they are used."""
        if self.client is not None or self.dask_frame is not None:
            return False
        n_rows = sum(batch.n_rows for batch in self.batches)
        return 8 * n_rows * len(self.columns.names) <= self.limits.memory_bytes

    @cached_property
    def loaded(self) -> "TableRows":
        """The rows, loaded into memory."""
        from dircal.tables._reading import load

        return load(self)

    @cached_property
    def labels(self) -> Any:
        """The labels of the rows, without their scores."""
        from dircal.tables._reading import load

        return load(self, has_scores=False).labels

    @cached_property
    def observed(self) -> LabelArray:
        """The distinct labels, sorted."""
        from dircal.tables._reading import observed_labels

        return observed_labels(self)

    @cached_property
    def soft(self) -> "SoftColumns | None":
        """Columns with soft labels."""
        from dircal.tables._reading import find_soft_columns

        return None if self.label_columns is None else find_soft_columns(self)

    def reader(self, scores: Sequence[str]) -> "RowReader":
        """Return what reads the rows of a batch, with these columns of scores."""
        from dircal.tables._reading import RowReader

        has_text = self.label is not None and any(one.has_text_labels for one in self.batches)
        return RowReader(
            self.where.strip("'"),
            self.columns.words,
            tuple(scores),
            self.label,
            self.skip_unlabelled,
            self.soft,
            self.weight,
            self.group if self.is_in_memory else None,
            has_text and self.observed.dtype.kind in "iu",
            self.annotators_share,
        )

    def read(self, scores: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, BatchRows]]:
        """Yield columns, a batch with its scores as an array at a time, and its first row."""
        from dircal.tables._values import as_matrix

        first = 0
        for batch in self.batches:
            rows = batch.read(scores, others)
            if rows.n_rows:
                yield first, replace(rows, scores=as_matrix(rows.scores)[0]) if scores else rows
            first += rows.n_rows

    @cached_property
    def found(self) -> ClassColumns:
        """The columns with scores, and the label of each."""
        if self.soft is not None:
            return self.soft.found
        return self.find(np.asarray(self.classes) if self.label is None else self.observed)

    def scores_of(self, classes: LabelArray) -> npt.NDArray[Any]:
        """Load the scores, with columns in the order of ``classes``."""
        own, wanted = self.found.classes.tolist(), classes.tolist()
        scores = self.loaded.scores
        is_single = scores.shape[1] == 1
        if {*own} != {*wanted} or (is_single and own != wanted):
            raise ValueError(
                f"the tables have other classes: {show(classes)} and {show(self.found.classes)}. "
                "Name the columns of the scores, and their classes."
            )
        return scores if is_single else scores[:, [own.index(label) for label in wanted]]

    @cached_property
    def score_columns(self) -> tuple[list[str], LabelArray | None]:
        """Names of the columns with scores, and their labels if the names are not passed."""
        if self.scores is None or isinstance(self.scores, str) or self.label_columns is not None:
            return [self.columns.names[i] for i in self.found.positions], self.found.classes
        names = [self.columns.names[i] for i in self.columns.named(self.scores)]
        return names, None if self.classes is None else np.asarray(self.classes)

    def find(self, labels: LabelArray, aside: Sequence[int] = ()) -> ClassColumns:
        """Find the columns with scores, given the observed labels."""
        roles = [name for name in (self.label, self.weight, self.group) if name is not None]
        taken = [self.columns.names.index(name) for name in roles if name in self.columns.names]
        return self.columns.of_classes(self.scores, self.classes, labels, [*taken, *aside])

    def arguments(
        self, given: Arguments, place: Callable[[int], str] = "row {}".format
    ) -> Arguments:
        """Return the names of the table, its rows and its columns in messages about values."""
        words = self.columns.words
        if self.soft is not None and self.soft.order is None:
            given = replace(given, label_column=ColumnNames(self.soft.names))
        return replace(
            given,
            scores=self.where.strip("'"),
            labels=self.label or words.label_columns.strip("`"),
            weights=self.weight or given.weights,
            fix=f"Pass {words.scale} if these are logits; otherwise check that {words.scores} "
            "names all classes and nothing else.",
            row=place,
            column=ColumnNames(self.score_columns[0]),
        )


@dataclass(frozen=True)
class ColumnNames:
    """Names columns in messages. It can be sent to another process."""

    names: Sequence[str]

    def __call__(self, column: int) -> str:
        return f"column {self.names[column]!r}"


def scan(
    source: Any,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    weight: str | None = None,
    group: str | None = None,
    label_columns: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    skip_unlabelled: bool = False,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    client: Any = None,
) -> ScoreTable:
    """Describe a table of scores and labels, without reading its rows.

    Parameters
    ----------
    source : path, data frame, pyarrow dataset, Dask DataFrame or list
        A file (CSV, TSV, also compressed with gzip, Parquet, NPY or NPZ), a folder or a pattern of
        CSV or Parquet files, a data frame of any library, or a list of files or data frames.
    label : str, optional
        Column with the true labels; in an NPZ file the array with them, for an NPY file a second
        one.
    scores : sequence of str or str, optional
        Columns with the scores, or a pattern with a star in the place of the label, such as
        ``"prob_*"``; in an NPZ file the name of the array. None stands for the columns called like
        the labels.
    weight : str, optional
        Column with the weights of the rows.
    group : str, optional
        Column with the groups of the rows.
    label_columns : sequence of str or str, optional
        In place of ``label``, columns with soft labels: probabilities or counts of annotators; or
        a pattern with a star in the place of the label.
    classes : sequence, optional
        Label of each column of scores, in their order, or of the columns called like them.
    skip_unlabelled : bool, default=False
        Leave out rows without a label. Otherwise they are an error.
    delimiter : str, optional
        Field delimiter of text files. Detected from the header line by default.
    decimal : {".", ","}, default="."
        Decimal separator of text files.
    encoding : str, optional
        Encoding of text files, such as ``"cp1252"``; UTF-8 by default.
    client : distributed.Client, optional
        Client of the Dask cluster that reads the table. None stands for the current one if
        ``source`` is a Dask DataFrame; without one, this process reads the table.

    Returns
    -------
    table : ScoreTable
        Stands in the place of scores and labels: ``calibrator.fit(table)``,
        ``compare(calibrators, table)``, ``Report.from_predictions(table)``, ``evaluate(table)``,
        ``calibrator.predict_proba(table)``.

    Notes
    -----
    Tables of up to 256 MB of scores, and text files of any size, are loaded into memory when they
    are used. Larger Parquet files are read again in every pass, a row group at a time. The
    partitions of a Dask DataFrame stay on the workers.

    Examples
    --------
    >>> import pandas as pd
    >>> from dircal import TemperatureScaling, scan
    >>> frame = pd.DataFrame({"id": [7, 8, 9], "a": [0.6, 0.2, 0.7], "b": [0.4, 0.8, 0.3]})
    >>> table = scan(frame.assign(y=["a", "b", "b"]), label="y")
    >>> TemperatureScaling().fit(table).classes_.tolist()
    ['a', 'b']
    """
    options = {
        "label": label,
        "scores": scores,
        "weight": weight,
        "group": group,
        "label_columns": label_columns,
        "classes": classes,
        "skip_unlabelled": skip_unlabelled,
        "client": client,
    }
    dialect = TextFile(Path(), delimiter, decimal, encoding)
    if isinstance(source, str | Path):
        array = scores if isinstance(scores, str) else None
        return scan_files(Path(source), dialect, array=array, options=options)
    dialect.reject("`source`", vars(PYTHON))
    if nw.dependencies.is_dask_dataframe(source):
        options["client"] = default_client() if client is None else client
        return _table("the table", source.columns, (), options | {"dask_frame": source})
    # By its name: a dataset of pyarrow knows its files.
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "files"):
        source = list(source.files)
    if nw.dependencies.is_into_dataframe(source):
        names = nw.from_native(source, eager_only=True).columns
        return _table("the table", names, (FrameBatch(source),), options)
    if isinstance(source, Sequence) and len(source) > 0:
        if all(isinstance(one, str | Path) for one in source):
            files = [file for one in source for file in files_of(Path(one))]
            groups, names = row_groups(files)
            return _table(repr(str(source[0])), names, tuple(groups), options, files)
        if all(nw.dependencies.is_into_dataframe(one) for one in source):
            names = nw.from_native(source[0], eager_only=True).columns
            batches = tuple(FrameBatch(frame, f"part {i}") for i, frame in enumerate(source))
            return _table("the table", names, batches, options)
    what = f"a list of {len(source)}" if isinstance(source, list) else f"a {type(source).__name__}"
    raise ValueError(
        "`source` must be the path of a file, a folder or a pattern, a data frame, a dataset of "
        f"pyarrow, or a list of files or data frames; got {what}. Pass arrays as "
        "`calibrator.fit(X, y)`."
    )


def scan_files(
    path: Path,
    dialect: TextFile,
    *,
    array: str | None,
    options: dict[str, Any],
    words: Wording = PYTHON,
) -> ScoreTable:
    """Describe a file, a folder or a pattern; text is read as ``dialect`` tells.

    ``array`` is the name of the array with the scores in an NPZ file.
    """
    files = files_of(path)
    kind, where = file_kind(files[0]), repr(str(path))
    if kind in (".parquet", ".npy", ".npz"):
        dialect.reject(where, vars(words))
    if kind == ".parquet":
        groups, names = row_groups(files)
        return _table(where, names, tuple(groups), options, files, words=words)
    if kind in (".npy", ".npz"):
        found = ArrayFile(path, array if kind == ".npz" else None)
        names = (*map(str, range(found.n_scores)), *found.others)
        by_nature = range(found.n_scores)
        options = options | {"scores": None}
        return _table(where, names, (ArrayBatch(found),), options, files, by_nature, words)
    texts = [replace(dialect, path=file) for file in files]
    batches = tuple(map(TextBatch, texts))
    return _table(where, texts[0].names, batches, options, files, words=words)


def _table(
    where: str,
    names: Sequence[str],
    batches: tuple[AbstractBatch, ...],
    options: dict[str, Any],
    files: Sequence[Path] = (),
    by_nature: range | None = None,
    words: Wording = PYTHON,
) -> ScoreTable:
    columns = TableColumns(where, tuple(names), by_nature, words)
    return ScoreTable(where, columns, batches, files=tuple(files), **options)


def with_common_classes(*tables: ScoreTable) -> list[ScoreTable]:
    """Give tables without ``classes`` those that occur in any of them."""
    if any(table.classes is not None for table in tables):
        return [*tables]
    found = [table.observed for table in tables]
    every = np.unique(np.concatenate(found))
    if all(len(one) == len(every) for one in found):
        return [*tables]
    classes = [label_text(label) for label in every.tolist()]
    return [replace(table, classes=classes) for table in tables]


def default_client() -> Any:
    """Return the client of Dask that is in use here; None if there is none."""
    try:
        from distributed import get_client
    except ModuleNotFoundError:
        return None
    try:
        return get_client()
    except ValueError:
        return None
