"""Options that several commands share."""

import math
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from dircal.cli._calibrators import NAMES, check_names
from dircal.cli._errors import DEBUG
from dircal.cli._output import check_outputs, is_stdout
from dircal.cli._source import PredictionsFile, check_exists, input_files
from dircal.cli._standard_input import FORMATS, input_file

__all__ = [
    "COSTS_HELP",
    "FILE",
    "ask_option",
    "common_options",
    "costs_options",
    "cross_fitting_options",
    "engine_options",
    "finite",
    "label_columns_option",
    "map_argument",
    "output_options",
    "predictions_options",
    "resampling_options",
    "source_options",
    "stream_options",
    "weights_option",
]

_F = TypeVar("_F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
COSTS_HELP = (
    "What each action costs in each class: CSV with a line for each class and a column for each "
    'action, or JSON as {"class": {"action": cost}}.'
)
_FORMAT_NAMES = ("--format", "--input-format")


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


def output_options(
    what: str, *, check: Callable[[Path], object] = lambda path: path
) -> Callable[[_F], _F]:
    """``-o`` and ``--force``; ``check`` refuses names of files that it cannot be."""
    what = f"{what} A minus (-) prints it."

    def checked(_: click.Context, __: click.Parameter, value: Path) -> Path:
        check(value)
        return value

    def add(command: _F) -> _F:
        output = click.option(
            "-o", "--output", required=True, type=FILE, callback=checked, help=what
        )
        force = click.option(
            "--force", is_flag=True, help="Replace the output file if it is there already."
        )
        return output(force(command))

    return add


def map_argument(command: _F) -> _F:
    """The file of a fitted map; that it is there is checked before anything is loaded."""

    def existing(_: click.Context, __: click.Parameter, value: Path) -> Path:
        check_exists(value)
        return value

    return click.argument("map_file", metavar="MAP", type=FILE, callback=existing)(command)


def source_options(command: _F, *, format_names: Sequence[str] = _FORMAT_NAMES) -> _F:
    """The file, and which of its columns are the scores; handed over as one ``source``."""

    @click.argument("predictions", type=FILE)
    @click.option(
        *format_names,
        "kind",
        type=click.Choice(FORMATS),
        help="What standard input is, where PREDICTIONS is a minus (-).",
    )
    @click.option(
        "--columns",
        metavar="LIST",
        help="Columns with the scores: names with commas (a,b,c), or a pattern with a star in the "
        "place of the label ('prob_*'); for NPZ the name of the array.",
    )
    @_text_options
    @wraps(command)
    def wrapped(
        *args: Any,
        predictions: Path,
        kind: str | None,
        columns: str | None,
        delimiter: str | None,
        decimal: str,
        encoding: str | None,
        classes: str | None = None,
        positive: str | None = None,
        scale: str = "probability",
        label: str | None = "",
        label_columns: str | None = None,
        weights: str | None = None,
        skips: bool | None = None,
        **kwargs: Any,
    ) -> Any:
        if kwargs.get("output") is not None:
            read = input_files(predictions, label, label_columns)
            check_outputs([("--output", kwargs["output"])], force=kwargs["force"], inputs=read)
        _check_label_options(label, label_columns)
        _check_class_options(classes, positive)
        source = PredictionsFile(
            input_file(click.get_current_context(), predictions, kind),
            columns=columns,
            classes=classes,
            positive=positive,
            scale=scale,  # type: ignore[arg-type]
            label=label or "",
            label_columns=label_columns,
            weights=weights,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            skip_unlabelled=bool(skips),
            skip_option="" if skips is None else "--skip-unlabelled",
            name="standard input" if is_stdout(predictions) else "",
        )
        # Fails at once if the file or a column is not there.
        _ = source.table
        return command(*args, source=source, **kwargs)

    return wrapped  # type: ignore[return-value]


def _check_class_options(classes: str | None, positive: str | None) -> None:
    if classes is not None and positive is not None:
        raise click.UsageError(
            "--classes and --positive exclude each other: --positive is the label of a single "
            "column, --classes are those of several."
        )


def _check_label_options(label: str | None, label_columns: str | None) -> None:
    if label is None and label_columns is None:
        raise click.MissingParameter(param_hint="'--label'", param_type="option")
    if label and label_columns is not None:
        raise click.UsageError(
            "--label and --label-columns exclude each other: one column with the label, or one for "
            "each class."
        )


def _text_options(command: _F) -> _F:
    """How a text file is written, where it does not tell by itself."""
    delimiter = click.option(
        "--delimiter",
        metavar="CHAR",
        callback=_one_character,
        help="What separates the cells of a text file, where its first line does not tell.",
    )
    decimal = click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        help="What stands before decimals in a text file.",
    )
    encoding = click.option(
        "--encoding",
        metavar="NAME",
        callback=_known_encoding,
        help="Of a text file that is not in UTF-8, such as cp1252 or utf-16.",
    )
    return delimiter(decimal(encoding(command)))


def _one_character(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    # As shells hand it over where a person meant a tab.
    value = "\t" if value == "\\t" else value
    if value is not None and (len(value) != 1 or value in '"\r\n'):
        raise click.BadParameter(f"must be one character; got {value!r}.")
    return value


def _known_encoding(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    import codecs

    if value is None:
        return None
    try:
        # Only encodings of text encode one: not rot13, which maps text to text, nor hex.
        "a".encode(value)
        return codecs.lookup(value).name
    except (LookupError, ValueError):
        raise click.BadParameter(
            f"must be an encoding that Python knows, such as cp1252 or utf-16; got {value!r}."
        ) from None


def predictions_options(command: _F, *, format_names: Sequence[str] = _FORMAT_NAMES) -> _F:
    """The same for a file that has labels; ``format_names`` say what it is called."""
    skips = click.option(
        "--skip-unlabelled",
        "skips",
        is_flag=True,
        help="Leave out rows without a label; otherwise they are an error.",
    )
    return stream_options(skips(source_options(command, format_names=format_names)))


def stream_options(command: _F) -> _F:
    """What labels and scores are, for a file in which labels may be missing."""
    label = click.option(
        "--label",
        metavar="NAME",
        help="Column with the true labels; for NPZ the array, for NPY a second file.",
    )
    classes = click.option(
        "--classes",
        metavar="LIST",
        help="Labels with commas: those of the columns, in their order, or of the columns called "
        "like them.",
    )
    positive = click.option(
        "--positive",
        metavar="LABEL",
        help="Label whose probability a single column of scores contains. Of two labels, the last "
        "in sorted order by default.",
    )
    scale = click.option(
        "--scale",
        type=click.Choice(["probability", "logit"]),
        default="probability",
        show_default=True,
        help="What the scores are.",
    )
    return label(classes(positive(scale(command))))


def label_columns_option(command: _F) -> _F:
    """``--label-columns``, where labels may be soft."""
    return click.option(
        "--label-columns",
        metavar="LIST",
        help="In place of --label, soft labels: a column for each class with its probability or "
        "its number of annotators. Names with commas (a,b,c), or a pattern with a star in the "
        "place of the label ('votes_*'); for NPZ the array, for NPY a second file.",
    )(command)


def engine_options(command: _F) -> _F:
    """``--engine`` and ``--scheduler``: who reads Parquet files."""
    engine = click.option(
        "--engine",
        type=click.Choice(["threads", "dask"]),
        is_eager=True,
        help="Read Parquet files a row group at a time, by threads or by a Dask cluster. By "
        "default up to 256 MB of scores are read into memory, and more by threads.",
    )
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        callback=_with_dask,
        help="Scheduler of the cluster, such as tcp://host:8786; without it one is started here.",
    )
    return engine(scheduler(command))


def _with_dask(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    # The engine is eager, and known by now.
    if value is not None and context.params.get("engine") != "dask":
        raise click.UsageError("--scheduler needs --engine dask.")
    return value


def costs_options(command: _F) -> _F:
    """``--costs`` and ``--ask``: what actions cost, and a question among them."""
    costs = click.option("--costs", "costs_file", type=FILE, help=COSTS_HELP)
    return costs(ask_option(command))


def ask_option(command: _F) -> _F:
    """``--ask``, one more action."""
    return click.option(
        "--ask",
        type=float,
        callback=finite,
        help="One more action, 'ask', which costs so much in any class.",
    )(command)


def finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Reject NaN and infinity, which click takes for numbers."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"must be a finite number; got {value}.")
    return value


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
    """Several calibrators by name, and the number of folds; None where nobody says."""
    calibrators = click.option(
        "--calibrators",
        metavar="LIST",
        callback=lambda _, __, value: check_names(value),
        help=f"Calibrators with commas, of {', '.join(NAMES)}.",
    )
    folds = click.option(
        "--folds",
        type=click.IntRange(min=2),
        help="Number of folds, 5 by default; of a table that is read in parts and has more than "
        "1,000,000 rows, one of 5 folds is scored by default.",
    )
    return calibrators(folds(command))
