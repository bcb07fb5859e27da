"""The command: ``python -m experiments.uci``."""

from collections.abc import Sequence
from pathlib import Path

import click
import joblib
from rich.console import Console

from experiments._shared.command import resumable

from ._classifiers import CLASSIFIERS
from ._compare import compare
from ._data import DATASETS, MissingDatasetError
from ._figures import draw_figures
from ._files import Cache
from ._grid import QUICK_CLASSIFIERS, QUICK_DATASETS, cells
from ._page import write_page
from ._results import Results
from ._run import STAGES, Plan, run
from ._splits import N_REPETITIONS
from ._summary import show_summary
from ._tables import can_be_ranked, make_tables

HERE = Path(__file__).parent
AFTER = ("tables", "figures", "compare")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--datasets", help="Names with commas between them.  [default: all 21]")
@click.option("--classifiers", help="Names with commas between them.  [default: all 11]")
@click.option(
    "--repetitions",
    type=click.IntRange(1, N_REPETITIONS),
    help="Times the five test folds are drawn.  [default: as in the committed results]",
)
@click.option("--quick", is_flag=True, help="3 datasets, 3 classifiers, once; a minute or two.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice([*STAGES, *AFTER]),
    help="Run this stage only; can be given several times.  [default: all]",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: one for each core]")
@click.option("--backend", help="A joblib backend, such as loky or dask.")
@click.option("--results", type=click.Path(path_type=Path), help="Folder of the tables.")
@click.option("--cache", type=click.Path(path_type=Path), help="Folder of the probabilities.")
def main(
    datasets: str | None,
    classifiers: str | None,
    repetitions: int | None,
    quick: bool,
    stages: Sequence[str],
    jobs: int | None,
    backend: str | None,
    results: Path | None,
    cache: Path | None,
) -> None:
    """Re-run the paper's experiment on UCI data and lay its tables beside the printed ones.

    What the tables have already is not run again: after a clone this rebuilds them and the page
    from the committed rows. To run everything anew, name new folders for results and cache. A run
    that is stopped, at any moment, goes on where it was.
    """
    console = Console()
    chosen_stages = stages or (*STAGES, *AFTER)
    if quick:
        datasets, classifiers = ",".join(QUICK_DATASETS), ",".join(QUICK_CLASSIFIERS)
        repetitions = 1
        results = results or HERE / "cache" / "quick" / "results"
        cache = cache or HERE / "cache" / "quick"
    folder = Results(results or HERE / "results")
    chosen = cells(
        _names("--datasets", datasets, DATASETS),
        _names("--classifiers", classifiers, tuple(CLASSIFIERS)),
        repetitions,
    )
    plan = Plan(
        list(chosen),
        Cache(cache or HERE / "cache"),
        folder,
        Results(HERE / "results"),
        chosen_stages,
    )
    with resumable(console, MissingDatasetError, OSError), _workers(backend, jobs):
        run(plan, console)
    if not set(AFTER).intersection(chosen_stages):
        return
    if not can_be_ranked(folder):
        raise click.ClickException(
            f"The rows in {folder.folder} are of fewer than two datasets or two classifiers: there "
            "is nothing to rank. Run more of them."
        )
    if "tables" in chosen_stages:
        make_tables(folder)
    if "figures" in chosen_stages:
        draw_figures(folder)
    if "compare" in chosen_stages:
        compare(folder)
        write_page(folder)
        show_summary(folder, console)


def _workers(backend: str | None, jobs: int | None) -> joblib.parallel_config:
    try:
        return joblib.parallel_config(backend=backend or "loky", n_jobs=jobs or -1)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--backend") from error


def _names(option: str, given: str | None, known: Sequence[str]) -> Sequence[str]:
    """Split names at commas and refuse unknown ones."""
    if given is None:
        return known
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        wrong = ", ".join(unknown) or "nothing"
        raise click.BadParameter(f"{wrong} is not among {', '.join(known)}.", param_hint=option)
    return names


if __name__ == "__main__":
    main()
