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
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@common_options
def command(folder: Path | None, force: bool, as_json: bool) -> None:
    """Calibrate real classifiers on real data and show what changed.

    Trains three classifiers on scikit-learn's handwritten digits, fits every calibrator on rows
    that the classifiers have not seen, and measures on a third part. The report of the first
    classifier is written to dircal-report.html, in the folder where the command is run, unless
    there is one already.
    """
    if folder is not None:
        from dircal.cli._demo_files import save_predictions

        files = save_predictions(folder, force=force)
        print_answer(as_json, {"files": files}, *(f"Written: {file}" for file in files))
        return
    from dircal.cli._demo import DATASET, run_classifiers

    if as_json:
        from dircal.inference import columns_of

        tables = {one.name: columns_of(one.comparison) for one in run_classifiers()}
        print_json({"dataset": DATASET, "classifiers": tables})
        return
    from dircal.cli._demo_text import (
        REPORT,
        show_classifier,
        show_introduction,
        show_reading,
        write_report,
    )

    console = make_console()
    show_introduction(console, DATASET)
    results = []
    for result in run_classifiers():
        show_classifier(console, result)
        results.append(result)
    show_reading(console)
    write_report(console, results[0], Path(REPORT), force=force)
