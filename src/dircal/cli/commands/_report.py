"""``dircal report``: a page about a file of predictions."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    FILE,
    common_options,
    costs_options,
    cross_fitting_options,
    engine_options,
    label_columns_option,
    output_options,
    predictions_options,
    resampling_options,
    weights_option,
)
from dircal.cli._output import check_outputs, name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile
    from dircal.tables import ScoreTable

__all__ = ["command"]


# What a file is by its ending; without one, --format says.
_FORMS = {".html": "html", ".htm": "html", ".pdf": "pdf"}


def _refuse_other_endings(output: Path) -> None:
    if output.suffix.lower() not in ("", *_FORMS):
        raise ValueError(
            f"--output {str(output)!r}: the report is written as HTML or PDF. Name it "
            f"{str(output.with_suffix('.html'))!r}, or choose another --format."
        )


@click.command(epilog="Example: dircal report predictions.csv --label y -o report.html")
@partial(predictions_options, format_names=["--input-format"])
@weights_option
@label_columns_option
@cross_fitting_options
@click.option("--title", help="Title of the page.")
@click.option(
    "--old",
    type=FILE,
    help="A file of older rows with the same columns: the page then tells what has changed since, "
    "and what to do.",
)
@costs_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "pdf"]),
    help="How to write the page; PDF needs a browser (Chromium, Chrome or Edge). By default the "
    "ending of --output decides.",
)
@resampling_options
@engine_options
@output_options("Where to write the page, .html or .pdf.", check=_refuse_other_endings)
@common_options
def command(
    source: "PredictionsFile",
    calibrators: str | None,
    folds: int | None,
    title: str | None,
    old: Path | None,
    costs_file: Path | None,
    ask: float | None,
    form: str | None,
    resamples: int,
    seed: int,
    engine: str | None,
    scheduler: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page about a file of predictions, to read and hand on.

    The page is one file without anything from the network: measures, tests and pictures, and what
    calibration would change. A folder of files, or a pattern in quotes such as
    'scores/*.parquet', is one table, and Parquet may be of any size.
    """
    import dircal
    from dircal.cli._costs_file import table_of_costs
    from dircal.report import find_browser

    form = _check_form(form, output)
    if form == "pdf":
        find_browser()
    check_outputs([("--output", output)], force=force, inputs=[old, costs_file])
    if old is not None or costs_file is not None:
        _check_rows(source)
    with source.opened(engine, scheduler, annotators_share=True) as table:
        table, y_old, prob_old = _with_old_rows(table, source, old)
        report = dircal.Report.from_predictions(
            table,
            calibrators=calibrators and make_calibrators(calibrators, source.scale, table.found),
            input_scale=source.scale,
            cv=folds,
            n_resamples=resamples,
            random_state=seed,
            title=title,
            source=source.name or source.path.name,
            y_old=y_old,
            prob_old=prob_old,
            costs=table_of_costs(costs_file, ask, table),
        )
    with output_file(output, force=force) as temporary:
        if form == "pdf":
            report.to_pdf(temporary)
        else:
            report.to_html(temporary)
    n_rows = report.summary.data.n_rows
    document = {"output": output, "rows": n_rows}
    print_answer(as_json, document, f"{n_rows:,} rows, written to {name_of_output(output)}.")


def _check_rows(source: "PredictionsFile") -> None:
    """Raise unless the rows count alike, with one label each."""
    for option, given in (("--label-columns", source.label_columns), ("--weights", source.weights)):
        if given is not None:
            raise click.UsageError(
                f"--old and --costs test rows that count alike, with one label each, but {option} "
                "is given. Pass --label alone, or leave these options out."
            )


def _with_old_rows(
    table: "ScoreTable", source: "PredictionsFile", old: Path | None
) -> tuple["ScoreTable", Any, Any]:
    """Return the table, and labels and scores of old rows with the same classes."""
    if old is None:
        return table, None, None
    if source.label.endswith(".npy"):
        raise ValueError(
            f"--old {str(old)!r}: --label {source.label!r} has the labels of the new rows only. "
            "Pass files that hold scores and labels, such as NPZ or CSV."
        )
    from dircal.tables import with_common_classes

    table, before = with_common_classes(table, source.at(old).table)
    return table, before.loaded.labels, before.scores_of(table.found.classes)


def _check_form(form: str | None, output: Path) -> str:
    """Whether HTML or PDF is written; a file is never called what it is not."""
    ending = _FORMS.get(output.suffix.lower(), form or "html")
    if form is not None and form != ending:
        raise ValueError(
            f"--output {str(output)!r}: the report is written as {form.upper()}. Name it "
            f"{str(output.with_suffix('.' + form))!r}, or choose another --format."
        )
    return ending
