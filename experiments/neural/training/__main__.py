"""The command: ``python -m experiments.neural.training``."""

from collections.abc import Sequence
from pathlib import Path

import click
import torch
from rich.console import Console

from ._make import make_networks
from ._recipes import RECIPES

HERE = Path(__file__).parents[1]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(list(RECIPES)))
@click.option("--cache", type=click.Path(path_type=Path), default=HERE / "cache")
@click.option("--networks", type=click.Path(path_type=Path), default=HERE / "networks")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
def main(names: Sequence[str], cache: Path, networks: Path, threads: int) -> None:
    """Train the networks with these NAMES, or all of them, and write their logits.

    Pictures are fetched once and checked by hash. A run that is stopped goes on after its last
    finished epoch; a network whose logits are there is not trained again.
    """
    console = Console()
    torch.set_num_threads(threads)
    make_networks(RECIPES, names or RECIPES, cache=cache, networks=networks, console=console)


if __name__ == "__main__":
    main()
