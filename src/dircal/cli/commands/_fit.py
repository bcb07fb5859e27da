"""``dircal fit``: from a file of predictions with labels to a map."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._calibrators import NAMES, make_calibrator
from dircal.cli._options import common_options, output_options, predictions_options, weights_option
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
@output_options("Where to write the map, as JSON.")
@common_options
def command(
    source: "PredictionsFile",
    calibrator: str,
    options: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a map from a file of predictions with labels.

    PREDICTIONS is CSV or TSV (also .gz), Parquet, NPY or NPZ, of rows that the classifier was not
    trained on. The columns with the scores are those called like the labels, unless --columns
    names others.
    """
    import dircal
    from dircal.cli._predictions_file import read_rows

    check_output(output, force=force, inputs=[source.path])
    rows = read_rows(source)
    with busy(f"Fitting {len(rows.labels):,} rows"):
        fitted = _fit(source, rows, calibrator, options)
        losses = _losses(source, rows, fitted)
    with output_file(output, force=force) as temporary:
        dircal.save(fitted, temporary)
    lines = _sentences(rows, fitted, losses, output)
    print_answer(as_json, _document(rows, fitted, losses, output), *lines)


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
    return loss.of(before).value(before), loss.of(after).value(after)


def _name_of(fitted: Any) -> str:
    """The calibrator, with what it chose or holds."""
    name = type(fitted).__name__
    if hasattr(fitted, "choice_"):
        return f"{name} (its choice: {fitted.choice_})"
    held = getattr(fitted, "calibrator", None)
    return name if held is None else f"{name} of {type(held).__name__}"


def _sentences(
    rows: "FileRows", fitted: Any, losses: tuple[float, float] | None, output: Path
) -> list[str]:
    n, k = len(rows.labels), len(fitted.classes_)
    lines = [f"{_name_of(fitted)}, fitted on {n:,} rows of {k} classes.", _columns(rows)]
    if losses is not None:
        lines.append(f"Log-loss of these rows: {losses[0]:.4f} before, {losses[1]:.4f} after.")
    return [*lines, f"Written to {name_of_output(output)}."]


def _columns(rows: "FileRows") -> str:
    labels = rows.classes[-len(rows.columns) :].tolist()
    pairs = [
        name if name == str(label) else f"{name} = {label}"
        for name, label in zip(rows.columns, labels, strict=True)
    ]
    more = f" and {len(pairs) - 12} more" if len(pairs) > 12 else ""
    return f"Columns: {', '.join(pairs[:12])}{more}."


def _document(
    rows: "FileRows", fitted: Any, losses: tuple[float, float] | None, output: Path
) -> dict[str, Any]:
    before, after = losses or (None, None)
    return {
        "output": output,
        "calibrator": type(fitted).__name__,
        "choice": getattr(fitted, "choice_", None),
        "rows": len(rows.labels),
        "classes": fitted.classes_,
        "columns": rows.columns,
        "column_classes": rows.classes[-len(rows.columns) :],
        "log_loss_before": before,
        "log_loss_after": after,
    }
