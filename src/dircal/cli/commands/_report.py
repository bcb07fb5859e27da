"""``dircal report``: a page about a file of predictions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    common_options,
    cross_fitting_options,
    output_options,
    predictions_options,
    resampling_options,
    weights_option,
)
from dircal.cli._output import check_output, name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._predictions_file import PredictionsFile

__all__ = ["command"]


@click.command(epilog="Example: dircal report predictions.csv --label y -o report.html")
@predictions_options
@weights_option
@cross_fitting_options
@click.option("--title", help="Title of the page.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "pdf"]),
    help="How to write the page; PDF needs a browser (Chromium, Chrome or Edge). By default the "
    "ending of --output decides.",
)
@resampling_options
@output_options("Where to write the page, .html or .pdf.")
@common_options
def command(
    source: "PredictionsFile",
    calibrators: str | None,
    folds: int,
    title: str | None,
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
    from dircal.cli._predictions_file import read_rows
    from dircal.report import find_browser

    form = _check_form(form, output)
    if form == "pdf":
        find_browser()
    check_output(output, force=force, inputs=[source.path])
    rows = read_rows(source)
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
        source=source.path.name,
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
    ending = {"": form or "html", ".html": "html", ".htm": "html", ".pdf": "pdf"}.get(
        output.suffix.lower()
    )
    if ending is None or (form is not None and form != ending):
        wanted = form or "html"
        raise ValueError(
            f"--output {str(output)!r}: the report is written as {wanted.upper()}. Name it "
            f"{str(output.with_suffix('.' + wanted))!r}, or choose another --format."
        )
    return ending
