"""``dircal demo``: real classifiers on real data."""

from pathlib import Path

import click

from dircal.cli._options import FILE, common_options
from dircal.cli._output import make_console, print_answer, print_json

__all__ = ["command"]


@click.command(epilog="Example: dircal demo")
@click.option(
    "--save",
    "folder",
    type=FILE,
    metavar="FOLDER",
    help="Only write predictions to try the other commands on: calibration.csv and test.csv.",
)
@click.option("--details", is_flag=True, help="Compare every calibrator, with intervals and tests.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@common_options
def command(folder: Path | None, details: bool, force: bool, as_json: bool) -> None:
    """Calibrate real classifiers on real data and show what changed.

    Trains three classifiers on scikit-learn's handwritten digits, fits the default calibrator on
    other rows, and measures on a third part. The report on the first classifier is written to
    dircal-report.html in the current folder, unless there is one already.
    """
    if folder is not None:
        from dircal.cli._demo_files import save_predictions

        files = save_predictions(folder, force=force)
        print_answer(as_json, {"files": files}, *(f"Written: {file}" for file in files))
        return
    from dircal.cli._demo import DATASET, run_classifiers

    if as_json:
        from dircal.inference import columns_of

        tables = {one.name: columns_of(one.comparison) for one in run_classifiers(details=details)}
        print_json({"dataset": DATASET, "classifiers": tables})
        return
    from dircal.cli._demo_text import (
        REPORT,
        show_classifier,
        show_details,
        show_introduction,
        show_reading,
        write_report,
    )

    console = make_console()
    show_introduction(console, DATASET)
    results = []
    for result in run_classifiers(details=details):
        show_classifier(console, result)
        if details:
            show_details(console, result)
        results.append(result)
    if details:
        show_reading(console)
    write_report(console, results[0], Path(REPORT), force=force)
