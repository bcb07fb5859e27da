"""The command: ``python -m experiments.neural``."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import click
import joblib
from rich.console import Console

from experiments._shared.command import resumable

from ._compare import compare
from ._confidences import keep_confidences
from ._example import examples_among, own_examples
from ._figures import draw_figures
from ._files import Cache
from ._networks import ENDINGS, Entry, default_folders, find_networks
from ._page import write_page
from ._published import repeat_published
from ._results import Results
from ._run import STAGES, Plan, run
from ._summary import show_summary
from ._tables import make_tables

HERE = Path(__file__).parent
AFTER = ("tables", "figures", "compare")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--logits",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of pickles or NPZ to run instead, such as the authors' own.",
)
@click.option("--networks", help="Names with commas between them.  [default: all]")
@click.option("--quick", is_flag=True, help="Our own networks, few strengths and draws; minutes.")
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice([*STAGES, *AFTER]),
    help="Run this stage only; can be given several times.  [default: all]",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes.  [default: one for each core]")
@click.option("--results", type=click.Path(path_type=Path), help="Folder of the tables.")
@click.option("--cache", type=click.Path(path_type=Path), help="Folder of the outcomes.")
def main(
    logits: Path | None,
    networks: str | None,
    quick: bool,
    stages: Sequence[str],
    jobs: int | None,
    results: Path | None,
    cache: Path | None,
) -> None:
    """Re-run the paper's experiment on networks, on files that anybody can get.

    What the tables have already is not run again: after a clone this rebuilds them and the page
    from the committed rows. Networks of your own, or the authors', are run with --logits and leave
    their tables in a folder of their own. A run that is stopped, at any moment, goes on where it
    was.
    """
    console = Console()
    chosen_stages = stages or (*STAGES, *AFTER)
    folders = (logits,) if logits else default_folders()[:1] if quick else default_folders()
    aside = "-".join([*(["quick"] if quick else []), *([_short(logits)] if logits else [])])
    cache_folder = cache or HERE / "cache" / aside
    folder = Results(results or (cache_folder / "results" if aside else HERE / "results"))
    runs = bool(set(STAGES).intersection(chosen_stages))
    with resumable(console, OSError, ValueError):
        found = find_networks(folders, in_catalogue=not logits) if runs or logits else []
        examples = examples_among(found) if logits else own_examples()
        if runs:
            chosen = _named(found, networks, folders)
            earlier = Results(HERE / "results")
            cache_ = Cache(cache_folder)
            plan = Plan(chosen, cache_, folder, earlier, examples, quick, chosen_stages)
            with joblib.parallel_config(backend="loky", n_jobs=jobs or -1):
                run(plan, console)
                if not quick and "collect" in chosen_stages:
                    repeat_published(cache_, folder, chosen, console)
            keep_confidences(folder, folders)
    if not set(AFTER).intersection(chosen_stages):
        return
    if not folder.done():
        raise click.ClickException(f"There are no rows in {folder.folder}: run all stages first.")
    if "tables" in chosen_stages:
        make_tables(folder)
    if "figures" in chosen_stages:
        draw_figures(folder, examples)
    if "compare" in chosen_stages:
        compare(folder)
        write_page(folder, [example.name for example in examples])
        show_summary(folder, console)


def _short(folder: Path) -> str:
    """A name for a folder that no other has."""
    path = folder.resolve()
    return f"{path.name}-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def _named(found: list[Entry], names: str | None, folders: Sequence[Path]) -> list[Entry]:
    """Those that were asked for; unknown names are refused."""
    if not found:
        where = " or ".join(map(str, folders))
        raise click.ClickException(
            f"There are no networks in {where}: files that end in {', '.join(ENDINGS)}. Name their "
            "folder with --logits, or set DIRCAL_DATA to a folder whose subfolder networks has "
            "them."
        )
    if names is None:
        return found
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    there = {entry.name: entry for entry in found}
    unknown = [name for name in wanted if name not in there]
    if unknown or not wanted:
        wrong = ", ".join(unknown) or "nothing"
        raise click.BadParameter(
            f"{wrong} is not among {', '.join(there)}.", param_hint="--networks"
        )
    return [entry for entry in found if entry.name in wanted]


if __name__ == "__main__":
    main()
