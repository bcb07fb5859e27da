"""``dircal report``: a page about a file of predictions."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    FILE,
    common_options,
    costs_options,
    cross_fitting_options,
    output_options,
    predictions_options,
    resampling_options,
    weights_option,
)
from dircal.cli._output import check_output, name_of_output, output_file, print_answer

if TYPE_CHECKING:
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
@output_options("Where to write the page, .html or .pdf.", check=_refuse_other_endings)
@common_options
def command(
    source: "PredictionsFile",
    calibrators: str | None,
    folds: int,
    title: str | None,
    old: Path | None,
    costs_file: Path | None,
    ask: float | None,
    form: str | None,
    resamples: int,
    seed: int,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page about a file of predictions, to read and hand on.

    The page is one file without anything from the network: measures, tests and pictures, and what
    calibration would change.
    """
    import dircal
    from dircal.cli._costs_file import table_of_costs
    from dircal.cli._old_rows import read_new_and_old
    from dircal.cli._predictions_file import read_rows
    from dircal.report import find_browser

    form = _check_form(form, output)
    if form == "pdf":
        find_browser()
    check_output(output, force=force, inputs=[one for one in (old, costs_file) if one is not None])
    rows, before = (read_rows(source), None) if old is None else read_new_and_old(source, old)
    costs = table_of_costs(costs_file, ask, rows.classes)
    maps = calibrators and make_calibrators(calibrators, source.scale, rows)
    report = dircal.Report.from_predictions(
        rows.labels,
        rows.scores,
        calibrators=maps,
        classes=rows.classes.tolist(),
        sample_weight=rows.weights,
        input_scale=source.scale,
        cv=folds,
        n_resamples=resamples,
        random_state=seed,
        title=title,
        source=source.name or source.path.name,
        y_old=None if before is None else before.labels,
        prob_old=None if before is None else before.scores,
        costs=costs,
    )
    with output_file(output, force=force) as temporary:
        if form == "pdf":
            report.to_pdf(temporary)
        else:
            report.to_html(temporary)
    n_rows = len(rows.labels)
    document = {"output": output, "rows": n_rows}
    print_answer(as_json, document, f"{n_rows:,} rows, written to {name_of_output(output)}.")


def _check_form(form: str | None, output: Path) -> str:
    """Whether HTML or PDF is written; a file is never called what it is not."""
    ending = _FORMS.get(output.suffix.lower(), form or "html")
    if form is not None and form != ending:
        raise ValueError(
            f"--output {str(output)!r}: the report is written as {form.upper()}. Name it "
            f"{str(output.with_suffix('.' + form))!r}, or choose another --format."
        )
    return ending
