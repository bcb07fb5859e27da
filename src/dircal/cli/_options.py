"""Options that several commands share."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from dircal.cli._errors import DEBUG

__all__ = [
    "common_options",
    "cross_fitting_options",
    "engine_options",
    "output_options",
    "predictions_options",
    "resampling_options",
    "source_options",
    "weights_option",
]

_F = TypeVar("_F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


def common_options(command: _F) -> _F:
    """``--json`` and ``--debug``, which every command has."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        context.meta[DEBUG] = context.meta.get(DEBUG, False) or value

    debug = click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=remember,
        help="Show tracebacks of errors.",
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")
    return as_json(debug(command))


def output_options(what: str) -> Callable[[_F], _F]:
    """``-o`` and ``--force``."""
    what = f"{what} A minus (-) prints it."

    def add(command: _F) -> _F:
        output = click.option("-o", "--output", required=True, type=FILE, help=what)
        force = click.option(
            "--force", is_flag=True, help="Replace the output file if it is there already."
        )
        return output(force(command))

    return add


def source_options(command: _F) -> _F:
    """The file, and which of its columns are the scores; handed over as one ``source``."""

    @click.argument("predictions", type=FILE)
    @click.option(
        "--columns",
        metavar="LIST",
        help="Columns with the scores: names with commas (a,b,c), or a pattern with a star in the "
        "place of the label ('prob_*'); for NPZ the name of the array.",
    )
    @click.option("--delimiter", metavar="CHAR", help="What separates the cells of a text file.")
    @wraps(command)
    def wrapped(
        predictions: Path,
        columns: str | None,
        delimiter: str | None,
        *args: Any,
        classes: str | None = None,
        scale: str = "probability",
        label: str = "",
        weights: str | None = None,
        **kwargs: Any,
    ) -> Any:
        from dircal.cli._predictions_file import PredictionsFile

        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise click.BadParameter(f"must be one character; got {delimiter!r}.")
        source = PredictionsFile(predictions, columns, classes, scale, label, weights, delimiter)  # type: ignore[arg-type]
        return command(*args, source=source, **kwargs)

    return wrapped  # type: ignore[return-value]


def predictions_options(command: _F) -> _F:
    """The same for a file that has labels."""
    label = click.option(
        "--label",
        required=True,
        metavar="NAME",
        help="Column with the true labels; for NPZ the array, for NPY a second file.",
    )
    classes = click.option(
        "--classes",
        metavar="LIST",
        help="Labels with commas: those of the columns, in their order, or of the columns called "
        "like them.",
    )
    scale = click.option(
        "--scale",
        type=click.Choice(["probability", "logit"]),
        default="probability",
        show_default=True,
        help="What the scores are.",
    )
    return label(classes(scale(source_options(command))))


def engine_options(command: _F) -> _F:
    """``--engine`` and ``--scheduler``: who reads Parquet files."""
    engine = click.option(
        "--engine",
        type=click.Choice(["threads", "dask"]),
        help="Read Parquet files a row group at a time, by threads or by a Dask cluster; folders "
        "and patterns are read by threads unless this says otherwise.",
    )
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Scheduler of the cluster, such as tcp://host:8786; without it one is started here.",
    )
    return engine(scheduler(command))


def weights_option(command: _F) -> _F:
    """``--weights``, where rows may have some."""
    return click.option("--weights", metavar="NAME", help="Column with the weights of the rows.")(
        command
    )


def resampling_options(command: _F) -> _F:
    """Number and seed of the draws behind intervals and p-values."""
    draws = click.option(
        "--resamples",
        type=click.IntRange(min=100),
        default=1_000,
        show_default=True,
        help="Number of draws for intervals and p-values.",
    )
    seed = click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the draws."
    )
    return draws(seed(command))


def cross_fitting_options(command: _F) -> _F:
    """Several calibrators by name, and the number of folds."""
    from dircal.cli._calibrators import NAMES

    calibrators = click.option(
        "--calibrators",
        metavar="LIST",
        help=f"Calibrators with commas, of {', '.join(NAMES)}.",
    )
    folds = click.option(
        "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of folds."
    )
    return calibrators(folds(command))
