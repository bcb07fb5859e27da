"""The commands."""

from pathlib import Path

import click
from rich.console import Console

from dircal import __version__
from dircal.cli._demo import DATASET, run_classifiers
from dircal.cli._demo_report import REPORT, write_report
from dircal.cli._demo_text import show_classifier, show_introduction, show_reading
from dircal.cli._reproduce import run_experiment

__all__ = ["app"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dircal")
def app() -> None:
    """Calibrated probabilities for any multiclass classifier."""


@app.command(epilog="Example: dircal demo")
def demo() -> None:
    """Calibrate real classifiers on real data and show what changed.

    Trains three classifiers on scikit-learn's handwritten digits, fits every calibrator on rows
    that the classifiers have not seen, and measures on a third part. The report of the first
    classifier is written to dircal-report.html, in the folder where the command is run.
    """
    console = Console()
    show_introduction(console, DATASET)
    results = []
    for result in run_classifiers():
        show_classifier(console, result)
        results.append(result)
    show_reading(console)
    write_report(console, results[0], Path(REPORT))


@app.group(epilog="Example: dircal reproduce uci --quick")
def reproduce() -> None:
    """Re-run an experiment of the paper, in a checkout of the repository."""


@reproduce.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="21 datasets, 11 classifiers, 7 methods; --help lists the options.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def uci(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Hand the arguments to the experiment on UCI data."""
    context.exit(run_experiment("uci", arguments))


@reproduce.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Outputs of networks, 10 methods; --logits DIR runs yours; --help lists the rest.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def neural(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Hand the arguments to the experiment on networks."""
    context.exit(run_experiment("neural", arguments))
