"""A file of predictions, as options describe it.

Mistakes that show without reading it are found before anything is imported that takes long.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dircal._suggestions import did_you_mean
from dircal._table_files import file_kind, files_of, is_pattern

if TYPE_CHECKING:
    from dircal._typing import InputScale
    from dircal.tables import ScoreTable

__all__ = ["PredictionsFile", "check_exists", "input_files", "items_of"]


@dataclass(frozen=True)
class PredictionsFile:
    """A file, a folder or a pattern, and the options about its columns, as they were typed.

    ``skip_option`` is the option that leaves out rows without a label, empty if there is none.
    """

    path: Path
    columns: str | None = None
    classes: str | None = None
    positive: str | None = None
    scale: "InputScale" = "probability"
    label: str = ""
    weights: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    skip_unlabelled: bool = False
    skip_option: str = ""
    name: str = ""
    label_columns: str | None = None

    @property
    def shown(self) -> str:
        """The name of the file in an answer."""
        return self.name or str(self.path)

    @property
    def kind(self) -> str:
        """The ending that tells the type of the files."""
        return file_kind(files_of(self.path)[0])

    def at(self, path: Path) -> "PredictionsFile":
        """Apply the options to another file; those of text are for text files only."""
        other = replace(self, path=path)
        if file_kind(files_of(path)[0]) in (".parquet", ".npy", ".npz"):
            return replace(other, delimiter=None, decimal=".", encoding=None)
        return other

    @cached_property
    def table(self) -> "ScoreTable":
        """The table; names of columns that are not there are an error."""
        if not is_pattern(self.path):
            check_exists(self.path)
        is_array = self.kind == ".npz"
        from dircal.tables import TextFile, Wording, scan_files

        classes = None if self.classes is None else items_of(self.classes)
        options: dict[str, Any] = {
            "label": self.label or None,
            "label_columns": _listed(self.label_columns),
            "scores": None if is_array else _listed(self.columns),
            "classes": classes if self.positive is None else [self.positive],
            "weight": self.weights,
            "skip_unlabelled": self.skip_unlabelled,
        }
        words = Wording(
            scores="--columns",
            label="--label",
            label_columns="--label-columns",
            classes="--classes",
            weight="--weights",
            group="--group",
            skip=self.skip_option,
            scale="--scale logit",
            names="--columns a,b,c, and --classes in their order",
            pattern="--columns 'prob_*'",
            single="--columns NAME, and --positive LABEL, whose probability it is",
            delimiter="--delimiter",
            decimal="--decimal",
            encoding="--encoding",
        )
        dialect = TextFile(Path(), self.delimiter, self.decimal, self.encoding)
        array = self.columns if is_array else None
        return scan_files(self.path, dialect, array=array, options=options, words=words)

    @contextmanager
    def opened(
        self, engine: str | None, scheduler: str | None, **options: Any
    ) -> Iterator["ScoreTable"]:
        """Describe the table, to be read in parts by threads or by a cluster if that is asked."""
        if engine is not None and self.kind != ".parquet":
            raise ValueError(
                f"--engine {engine} reads Parquet; got {str(self.path)!r}. Leave it out, or write "
                "the predictions as Parquet."
            )
        if engine == "threads":
            from dircal.tables import TableLimits

            options["limits"] = TableLimits(memory_bytes=0)
        with _client(engine, scheduler) as client:
            yield replace(self.table, client=client, **options)


@contextmanager
def _client(engine: str | None, scheduler: str | None) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine; None without ``--engine dask``."""
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


def input_files(path: Path, *labels: str | None) -> list[Path]:
    """List the files behind a path to predictions, and those of labels in NPY files."""
    beside = [Path(one) for one in labels if one is not None and one.endswith(".npy")]
    return [*files_of(path), *beside]


def check_exists(path: Path) -> None:
    """Raise if there is no file of this name, with a similar name if there is one."""
    if not path.exists():
        near = did_you_mean(path.name, _siblings(path))
        raise FileNotFoundError(
            f"No such file or directory: {str(path)!r}.{near} Nothing was written."
        )


def _siblings(path: Path) -> list[str]:
    try:
        return [one.name for one in path.parent.iterdir()]
    except OSError:
        return []


def _listed(text: str | None) -> str | list[str] | None:
    """Split a list; a pattern stays text."""
    return text if text is None or "*" in text else items_of(text)


def items_of(text: str) -> list[str]:
    """Split a list with commas; commas inside an item are quoted as in CSV."""
    import csv

    try:
        [items] = csv.reader([text])
    except (csv.Error, ValueError):
        raise ValueError(
            f"{text!r:.80} is not a list with commas. Quote the items that hold line breaks, or "
            "leave these out."
        ) from None
    return items
