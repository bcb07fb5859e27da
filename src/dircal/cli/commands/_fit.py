"""``dircal fit``: from a file of predictions with labels to a map."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._calibrators import NAMES, make_calibrator
from dircal.cli._options import (
    common_options,
    engine_options,
    output_options,
    predictions_options,
    weights_option,
)
from dircal.cli._output import busy, check_output, name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._predictions_file import FileRows, PredictionsFile

__all__ = ["command"]


@click.command(
    epilog="Example: dircal fit predictions.csv --label y --calibrator dirichlet -o map.json"
)
@predictions_options
@weights_option
@click.option(
    "--calibrator",
    metavar="NAME",
    default="auto",
    show_default=True,
    help=f"Which map, of {', '.join(NAMES)}, or the class of another calibrator; beta, histogram, "
    "isotonic and platt take each class against the rest.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the calibrator, such as lam=0.01; may be repeated.",
)
@engine_options
@output_options("Where to write the map, as JSON.")
@common_options
def command(
    source: "PredictionsFile",
    calibrator: str,
    options: tuple[str, ...],
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
    from dircal.cli._predictions_file import read_rows
    from dircal.cli._streamed import is_streamed

    check_output(output, force=force, inputs=[source.path])
    if is_streamed(source, engine):
        how = engine, scheduler
        fitted_map, told = _fit_streamed(source, calibrator, options, how)
        with output_file(output, force=force) as temporary:
            dircal.save(fitted_map, temporary)
        lines = _sentences(told, fitted_map, output)
        print_answer(as_json, _document(told, fitted_map, output), *lines)
        return
    rows = read_rows(source)
    with busy(f"Fitting {len(rows.labels):,} rows"):
        fitted = _fit(source, rows, calibrator, options)
        losses = _losses(source, rows, fitted)
    found = _Told(len(rows.labels), rows.columns, rows.classes, losses)
    with output_file(output, force=force) as temporary:
        dircal.save(fitted, temporary)
    lines = _sentences(found, fitted, output)
    print_answer(as_json, _document(found, fitted, output), *lines)


@dataclass(frozen=True)
class _Told:
    """What there is to tell: rows, columns and their classes, and losses before and after."""

    n_rows: int
    columns: list[str]
    classes: Any
    losses: tuple[float, float] | None


def _fit_streamed(
    source: "PredictionsFile",
    name: str,
    options: tuple[str, ...],
    how: tuple[str | None, str | None],
) -> tuple[Any, _Told]:
    """Fit on files that are read in parts."""
    from dircal.cli._streamed import engine_client, progress_of, read_streamed
    from dircal.distributed import check_for_fit, fit_rows, measure_rows

    table = read_streamed(source)
    classes = table.classes.tolist()
    calibrator = make_calibrator(name, source.scale, table, classes=classes, options=options)
    with engine_client(*how) as client, progress_of("Fitting", table) as progress:
        selection = table.selection(source, client)
        data = check_for_fit(calibrator, selection, tell=progress.advance)
        fitted = fit_rows(calibrator, data)
        losses = None
        if len(table.columns) > 1:
            before = measure_rows(data, None, source.scale).measures["log_loss"]
            losses = before, measure_rows(data, fitted, source.scale).measures["log_loss"]
    return fitted, _Told(data.n_rows, table.columns, table.classes, losses)


def _fit(source: "PredictionsFile", rows: "FileRows", name: str, options: tuple[str, ...]) -> Any:
    import numpy as np

    classes = rows.classes.tolist()
    calibrator = make_calibrator(name, source.scale, rows, classes=classes, options=options)
    calibrator.fit(rows.scores, rows.labels, rows.weights)
    if not rows.is_array:
        # What a data frame would have told: `apply` finds the columns by it.
        calibrator.feature_names_in_ = np.array(rows.columns, dtype=object)
    return calibrator


def _losses(source: "PredictionsFile", rows: "FileRows", fitted: Any) -> tuple[float, float] | None:
    """Mean log-loss of the fitting rows before and after; None for a single column."""
    from dircal.metrics import RECORDS

    if len(rows.columns) == 1:
        return None
    before = rows.predictions(source.scale, judged=True)
    after = before.with_probabilities(fitted.predict_proba(rows.scores))
    loss = RECORDS["log_loss"]
    return loss.of(before).value(), loss.of(after).value()


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
    if losses is not None:
        lines.append(f"Log-loss of these rows: {losses[0]:.4f} before, {losses[1]:.4f} after.")
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
    before, after = rows.losses or (None, None)
    return {
        "output": output,
        "calibrator": type(fitted).__name__,
        "choice": getattr(fitted, "choice_", None),
        "rows": rows.n_rows,
        "classes": fitted.classes_,
        "columns": rows.columns,
        "column_classes": rows.classes[-len(rows.columns) :],
        "log_loss_before": before,
        "log_loss_after": after,
    }
