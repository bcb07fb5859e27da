"""``dircal fit``: from a file of predictions with labels to a map."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from dircal.cli._calibrators import NAMES, check_name, check_settings, make_calibrator
from dircal.cli._options import (
    common_options,
    engine_options,
    label_columns_option,
    output_options,
    predictions_options,
    weights_option,
)
from dircal.cli._output import name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._out_of_fold import NewRowsLoss
    from dircal.cli._predictions_file import FileRows
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]


@click.command(
    epilog="Example: dircal fit predictions.csv --label y --calibrator dirichlet -o map.json"
)
@predictions_options
@weights_option
@label_columns_option
@click.option(
    "--calibrator",
    metavar="NAME",
    default="auto",
    show_default=True,
    callback=lambda _, __, value: check_name(value),
    help=f"Which map, of {', '.join(NAMES)}, or the class of another calibrator; beta, histogram, "
    "isotonic and platt take each class against the rest.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=lambda _, __, value: check_settings(value),
    help="An option of the calibrator, such as lam=0.01; may be repeated.",
)
@click.option(
    "--uncertainty",
    type=click.Choice(["none", "posterior"]),
    default="none",
    show_default=True,
    help="Whether the file keeps what `predict_interval` of a Bayesian map needs, which is large.",
)
@engine_options
@output_options("Where to write the map, as JSON.")
@common_options
def command(
    source: "PredictionsFile",
    calibrator: str,
    options: tuple[str, ...],
    uncertainty: Literal["none", "posterior"],
    engine: str | None,
    scheduler: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a map from a file of predictions with labels.

    PREDICTIONS is CSV or TSV (also .gz), Parquet, NPY or NPZ, of rows that the classifier was not
    trained on. The columns with the scores are those called like the labels, unless --columns
    names others. A folder of Parquet files, or a pattern in quotes such as 'scores/*.parquet', is
    one table of any size: it is read again and again, and never whole.
    """
    import dircal
    from dircal.cli._streamed import is_streamed

    if is_streamed(source, engine):
        fitted, told = _fit_streamed(source, calibrator, options, (engine, scheduler))
    else:
        fitted, told = _fit_in_memory(source, calibrator, options)
    with output_file(output, force=force) as temporary:
        dircal.save(fitted, temporary, uncertainty=uncertainty)
    lines = _sentences(told, fitted, output)
    print_answer(as_json, _document(told, fitted, output), *lines)


@dataclass(frozen=True)
class _Told:
    """What there is to tell: rows, columns and their classes, and losses.

    ``annotators`` are those of a row in the mean, and the rows that they count as.
    """

    n_rows: int
    columns: list[str]
    classes: Any
    losses: "_Losses | None"
    annotators: tuple[float, float] | None = None


def _fit_in_memory(
    source: "PredictionsFile", name: str, options: tuple[str, ...]
) -> tuple[Any, _Told]:
    """Fit on a file that is read whole."""
    from dircal.cli._predictions_file import read_rows

    counted = read_rows(source)
    rows = counted.weighed(source.scale)
    fitted, seconds = _fit(source, rows, name, options)
    losses = _losses(source, rows, fitted, seconds)
    told = _Told(len(rows.labels), rows.columns, rows.classes, losses)
    if counted.mean_annotators is None or rows.weights is None:
        return fitted, told
    return fitted, replace(told, annotators=(counted.mean_annotators, float(rows.weights.mean())))


def _fit_streamed(
    source: "PredictionsFile",
    name: str,
    options: tuple[str, ...],
    how: tuple[str | None, str | None],
) -> tuple[Any, _Told]:
    """Fit on files that are read in parts."""
    from dircal.cli._out_of_fold import expected_by_fit
    from dircal.cli._streamed import as_they_are, engine_client, progress_of, read_streamed
    from dircal.distributed import check_for_fit, fit_rows
    from dircal.metrics import RECORDS, predictions_in_parts

    table = read_streamed(source)
    classes = table.classes.tolist()
    calibrator = make_calibrator(name, source.scale, table, classes=classes, options=options)
    with engine_client(*how) as client, progress_of("Fitting", table) as progress:
        selection = table.selection(source, client)
        data = check_for_fit(calibrator, selection, tell=progress.advance)
        fitted = fit_rows(calibrator, data)
        losses = None
        if len(table.columns) > 1:
            loss = RECORDS["log_loss"]
            both = as_they_are(data, source.scale), predictions_in_parts(data, fitted)
            before, after = (loss.of(one).value(one) for one in both)
            losses = _Losses(before, after, expected_by_fit(fitted))
    return fitted, _Told(data.n_rows, table.columns, table.classes, losses)


def _fit(
    source: "PredictionsFile", rows: "FileRows", name: str, options: tuple[str, ...]
) -> tuple[Any, float]:
    """The fitted calibrator, and the seconds that it took."""
    import numpy as np

    classes = rows.classes.tolist()
    calibrator = make_calibrator(name, source.scale, rows, classes=classes, options=options)
    began = time.perf_counter()
    calibrator.fit(rows.scores, rows.labels, rows.weights)
    seconds = time.perf_counter() - began
    if not rows.is_array:
        # What a data frame would have told: `apply` finds the columns by it.
        calibrator.feature_names_in_ = np.array(rows.columns, dtype=object)
    return calibrator, seconds


@dataclass(frozen=True)
class _Losses:
    """Mean log-loss of the fitting rows before and after, and what to expect of new ones."""

    before: float
    after: float
    new_rows: "NewRowsLoss | None"


def _losses(
    source: "PredictionsFile", rows: "FileRows", fitted: Any, seconds: float
) -> _Losses | None:
    """None for a single column."""
    from dircal.cli._out_of_fold import loss_on_new_rows
    from dircal.metrics import RECORDS

    if len(rows.columns) == 1:
        return None
    before = rows.predictions(source.scale, judged=True)
    after = before.with_probabilities(fitted.predict_proba(rows.scores))
    loss = RECORDS["log_loss"]
    new = loss_on_new_rows(fitted, rows.scores, before, rows.labels, rows.weights, seconds)
    return _Losses(loss.of(before).value(before), loss.of(after).value(after), new)


def _name_of(fitted: Any) -> str:
    """The calibrator, with what it chose or holds."""
    name = type(fitted).__name__
    if hasattr(fitted, "choice_"):
        return f"{name} (its choice: {fitted.choice_})"
    held = getattr(fitted, "calibrator", None)
    return name if held is None else f"{name} of {type(held).__name__}"


def _sentences(told: _Told, fitted: Any, output: Path) -> list[str]:
    n, k, losses = told.n_rows, len(fitted.classes_), told.losses
    lines = [f"{_name_of(fitted)}, fitted on {n:,} rows of {k} classes.", _columns(told)]
    if told.annotators is not None:
        many, worth = told.annotators
        lines.append(f"Soft labels: {many:.3g} annotators a row, who count as {worth:.2g} rows.")
    if losses is not None:
        lines.append(
            f"Log-loss of these rows: {losses.before:.4f} before, {losses.after:.4f} after."
        )
        lines.append(
            "Log-loss of new rows: not measured; dircal compare does, in folds."
            if losses.new_rows is None
            else losses.new_rows.sentence()
        )
    return [*lines, f"Written to {name_of_output(output)}."]


def _columns(rows: _Told) -> str:
    labels = rows.classes[-len(rows.columns) :].tolist()
    pairs = [
        name if name == str(label) else f"{name} = {label}"
        for name, label in zip(rows.columns, labels, strict=True)
    ]
    more = f" and {len(pairs) - 12} more" if len(pairs) > 12 else ""
    return f"Columns: {', '.join(pairs[:12])}{more}."


def _document(rows: _Told, fitted: Any, output: Path) -> dict[str, Any]:
    losses = rows.losses
    new = None if losses is None else losses.new_rows
    return {
        "output": output,
        "calibrator": type(fitted).__name__,
        "choice": getattr(fitted, "choice_", None),
        "rows": rows.n_rows,
        "classes": fitted.classes_,
        "columns": rows.columns,
        "column_classes": rows.classes[-len(rows.columns) :],
        "annotators": None if rows.annotators is None else rows.annotators[0],
        "annotators_count_as": None if rows.annotators is None else rows.annotators[1],
        "log_loss_before": None if losses is None else losses.before,
        "log_loss_after": None if losses is None else losses.after,
        "log_loss_new_rows": None if new is None else new.value,
        "log_loss_new_rows_by": None if new is None else new.source,
    }
