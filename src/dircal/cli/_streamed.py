"""Parquet files that are read a part at a time, by threads or by a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dircal._progress import Progress
from dircal._typing import InputScale, LabelArray
from dircal.calibrators import IdentityCalibrator
from dircal.cli._kinds import input_kind, names_many_files
from dircal.cli._selection import columns_of_classes
from dircal.cli._source import PredictionsFile, column_called
from dircal.cli.tables import open_table
from dircal.distributed import Selection, observed_labels, parquet_files
from dircal.metrics import Predictions, predictions_in_parts
from dircal.tables import PartitionedScores

__all__ = [
    "StreamedTable",
    "as_they_are",
    "engine_client",
    "is_streamed",
    "progress_of",
    "read_streamed",
]


@dataclass(frozen=True)
class StreamedTable:
    """Files of one table, and which of their columns are the scores of which class."""

    files: list[str]
    columns: list[str]
    classes: LabelArray
    n_rows: int

    def selection(self, source: PredictionsFile, client: Any) -> Selection:
        """The same in the words of `dircal.distributed`."""
        return Selection(self.files, source.label, source.weights, self.columns, client)


def is_streamed(source: PredictionsFile, engine: str | None) -> bool:
    """Whether a path names many files, or a cluster is to read it."""
    if engine is not None and input_kind(source.path) != ".parquet":
        raise ValueError(
            f"--engine {engine} reads Parquet; got {str(source.path)!r}. Leave it out, or write "
            "the predictions as Parquet."
        )
    return names_many_files(source.path) or engine is not None


def read_streamed(source: PredictionsFile) -> StreamedTable:
    """Labels first, since they tell which columns are the scores."""
    import pyarrow.parquet as pq

    whole = "reads one file whole, but this is read in parts. Pass one file without --engine, or"
    if source.label_columns is not None:
        raise ValueError(f"--label-columns {whole} --label.")
    if source.unlabelled == "skip":
        raise ValueError(f"--skip-unlabelled {whole} files in which every row has a label.")
    files = parquet_files(source.path)
    with open_table(Path(files[0])) as table:
        aside = [column_called(table, source.label, "--label")]
        if source.weights is not None:
            aside.append(column_called(table, source.weights, "--weights"))
        labels = observed_labels(files, source.label)
        chosen = columns_of_classes(table, source.columns, source.classes, labels, aside)
        names = [table.names[i] for i in chosen.positions]
    n_rows = sum(pq.read_metadata(file).num_rows for file in files)
    return StreamedTable(files, names, chosen.classes, n_rows)


def as_they_are(data: PartitionedScores, scale: InputScale) -> Predictions:
    """Rows that have passed the door, as `FileRows.predictions` makes them of one file."""
    identity = IdentityCalibrator(input_scale=scale)._fit_checked(data)
    return predictions_in_parts(data, identity)


def progress_of(what: str, table: StreamedTable) -> Progress:
    """A line with the passes over all rows, for a person who is watching."""
    return Progress(what, table.n_rows, "rows", counts_passes=True)


@contextmanager
def engine_client(engine: str | None, scheduler: str | None) -> Iterator[Any]:
    """A client of the cluster that is asked for, or of one on this machine; None for threads."""
    if engine != "dask":
        yield None
        return
    if find_spec("distributed") is None:
        raise ModuleNotFoundError(
            "--engine dask needs Dask, which is not installed. Install the extra: "
            "pip install 'dircal[dask]'"
        )
    from distributed import Client, LocalCluster

    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=10, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"--scheduler {scheduler!r} does not answer. Check the address, such as "
                "tcp://host:8786."
            ) from error
        with client:
            yield client
        return
    with (
        LocalCluster(threads_per_worker=1, scheduler_port=0, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
