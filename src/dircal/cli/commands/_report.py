"""``dircal report``: a page about a file of predictions."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dircal.cli._calibrators import make_calibrators
from dircal.cli._options import (
    calibrators_option,
    common_options,
    output_options,
    predictions_options,
    resampling_options,
)
from dircal.cli._output import check_output, print_json, print_lines

if TYPE_CHECKING:
    from dircal.cli._predictions_file import PredictionsFile

__all__ = ["command"]


@click.command(epilog="Example: dircal report predictions.csv --label y -o report.html")
@predictions_options
@click.option("--weights", metavar="NAME", help="Column with the weights of the rows.")
@calibrators_option
@click.option(
    "--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Number of folds."
)
@click.option("--title", help="Title of the page.")
@resampling_options
@output_options("Where to write the page, as HTML.")
@common_options
def command(
    source: "PredictionsFile",
    calibrators: str | None,
    folds: int,
    title: str | None,
    resamples: int,
    seed: int,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Write a page about a file of predictions, to read and hand on.

    The page is one HTML file without anything from the network: measures, tests and pictures, and
    what calibration would change.
    """
    import dircal
    from dircal.cli._predictions_file import read_rows

    check_output(output, force=force, inputs=[source.path])
    rows = read_rows(source)
    maps = calibrators and make_calibrators(
        calibrators,
        scale=source.scale,
        n_classes=len(rows.classes),
        n_columns=len(rows.columns),
    )
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
    report.to_html(output)
    if as_json:
        print_json({"output": output, "rows": len(rows.labels)})
    else:
        print_lines([f"{len(rows.labels):,} rows, written to {output}."])
