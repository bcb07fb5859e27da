"""The command: ``python -m experiments.study``."""

from collections.abc import Sequence
from pathlib import Path

import click
import joblib
from rich.console import Console

from experiments._shared.command import resumable
from experiments.neural._networks import ENDINGS

from ._figure import draw_figure
from ._files import Cache, Results
from ._likelihood import DRAWS
from ._networks import find_members
from ._page import write_page
from ._run import STAGES, Plan, run

HERE = Path(__file__).parent
AFTER = ("figure", "page")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--logits",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of pickles or NPZ to run instead; needs --results.",
)
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice([*STAGES, *AFTER]),
    help="Run this stage only; can be given several times.  [default: all]",
)
@click.option("--draws", type=click.IntRange(2), default=DRAWS, show_default=True)
@click.option("--results", type=click.Path(path_type=Path), help="Folder of the tables.")
@click.option("--cache", type=click.Path(path_type=Path), help="Folder of the outcomes.")
def main(
    logits: Path | None,
    stages: Sequence[str],
    draws: int,
    results: Path | None,
    cache: Path | None,
) -> None:
    """Ask which networks one temperature calibrates, of all that are at hand.

    What the tables have already is not run again: after a clone this rebuilds figure and page from
    the committed tables. A run that is stopped, at any moment, goes on where it was. Networks of
    our own are trained by ``python -m experiments.study.training``.
    """
    if logits and not results:
        raise click.UsageError("--logits needs --results: the committed tables are of other files.")
    console = Console()
    chosen = stages or (*STAGES, *AFTER)
    folder = Results(results or HERE / "results")
    with resumable(console, OSError, ValueError):
        if set(STAGES).intersection(chosen):
            members = find_members([logits] if logits else None)
            if not members:
                raise ValueError(
                    f"There are no networks in {logits}: files that end in {', '.join(ENDINGS)}. "
                    "Name their folder with --logits."
                )
            where = Cache(cache or (folder.folder if logits else HERE) / "cache")
            with joblib.parallel_config(backend="sequential"):
                run(Plan(members, where, folder, draws, chosen), console)
    if not set(AFTER).intersection(chosen):
        return
    if not folder.done():
        raise click.ClickException(f"There are no tables in {folder.folder}: run all stages first.")
    if "figure" in chosen:
        draw_figure(folder)
    if "page" in chosen:
        write_page(folder)
        console.print(f"The page is {folder.folder / 'page.md'}.", highlight=False)


if __name__ == "__main__":
    main()
