"""``dircal report``: a page about a file of predictions."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    FILE,
    FOLDS,
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
    from dircal import Report
    from dircal.cli._source import PredictionsFile

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
    calibration would change. A folder of Parquet files, or a pattern in quotes such as
    'scores/*.parquet', is one table of any size: it is read a part at a time.
    """
    from dircal.cli._streamed import is_streamed
    from dircal.report import find_browser

    form = _check_form(form, output)
    if form == "pdf":
        find_browser()
    options = {
        "input_scale": source.scale,
        "n_resamples": resamples,
        "random_state": seed,
        "title": title,
        "source": source.name or source.path.name,
    }
    check_outputs([("--output", output)], force=force, inputs=[old, costs_file])
    streamed = is_streamed(source, engine)
    if old is not None or costs_file is not None:
        _refuse_further(source, streamed)
    if streamed:
        report, n_rows = _report_streamed(source, calibrators, folds, (engine, scheduler), options)
    else:
        further = (old, costs_file, ask)
        report, n_rows = _report_in_memory(source, calibrators, folds, options, further)
    with output_file(output, force=force) as temporary:
        if form == "pdf":
            report.to_pdf(temporary)
        else:
            report.to_html(temporary)
    document = {"output": output, "rows": n_rows}
    print_answer(as_json, document, f"{n_rows:,} rows, written to {name_of_output(output)}.")


def _refuse_further(source: "PredictionsFile", streamed: bool) -> None:
    """Raise where old rows or costs were given with what their tests cannot take."""
    if streamed:
        raise click.UsageError(
            "--old and --costs need the rows in memory, and folders and patterns are read in "
            "parts. Name one file, or leave these options out."
        )
    for option, given in (("--label-columns", source.label_columns), ("--weights", source.weights)):
        if given is not None:
            raise click.UsageError(
                f"--old and --costs test rows that count alike, with one label each, but {option} "
                "is given. Pass --label alone, or leave these options out."
            )


def _report_in_memory(
    source: "PredictionsFile",
    names: str | None,
    folds: int | None,
    options: dict[str, Any],
    further: tuple[Path | None, Path | None, float | None],
) -> tuple["Report", int]:
    """A report on a file that is read whole, and the number of its rows.

    ``further`` are the file of old rows, that of costs, and what it costs to ask.
    """
    import dircal
    from dircal.cli._costs_file import table_of_costs
    from dircal.cli._old_rows import read_new_and_old
    from dircal.cli._predictions_file import read_rows

    old, costs_file, ask = further
    rows, before = (read_rows(source), None) if old is None else read_new_and_old(source, old)
    report = dircal.Report.from_predictions(
        rows.labels_once,
        rows.scores,
        calibrators=names and make_calibrators(names, source.scale, rows),
        classes=rows.classes.tolist(),
        sample_weight=rows.weights,
        cv=folds or FOLDS,
        y_old=None if before is None else before.labels,
        prob_old=None if before is None else before.scores,
        costs=table_of_costs(costs_file, ask, rows.classes),
        **options,
    )
    return report, len(rows.labels)


def _report_streamed(
    source: "PredictionsFile",
    names: str | None,
    folds: int | None,
    how: tuple[str | None, str | None],
    options: dict[str, Any],
) -> tuple["Report", int]:
    """A report on files that are read in parts, and the number of their rows."""
    from dircal import distributed
    from dircal.cli._streamed import engine_client, read_streamed

    table = read_streamed(source)
    with engine_client(*how) as client:
        report = distributed.report(
            table.files,
            label=source.label,
            weight=source.weights,
            columns=table.columns,
            calibrators=names and make_calibrators(names, source.scale, table),
            classes=table.classes.tolist(),
            cv=folds,
            client=client,
            **options,
        )
    return report, table.n_rows


def _check_form(form: str | None, output: Path) -> str:
    """Whether HTML or PDF is written; a file is never called what it is not."""
    ending = _FORMS.get(output.suffix.lower(), form or "html")
    if form is not None and form != ending:
        raise ValueError(
            f"--output {str(output)!r}: the report is written as {form.upper()}. Name it "
            f"{str(output.with_suffix('.' + form))!r}, or choose another --format."
        )
    return ending
