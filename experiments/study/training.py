"""The command that trains our own networks: ``python -m experiments.study.training``."""

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import torch
from rich.console import Console

from experiments.neural.training._make import make_networks

from ._recipes import TRAININGS

__all__ = ["main"]

_HERE = Path(__file__).parent


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(list(TRAININGS)))
@click.option("--cache", type=click.Path(path_type=Path), default=_HERE / "cache")
@click.option("--networks", type=click.Path(path_type=Path), default=_HERE / "networks")
def main(names: Sequence[str], cache: Path, networks: Path) -> None:
    """Train the networks with these NAMES, or all of them, and write their logits.

    A run that is stopped goes on after its last finished epoch; a network whose logits are there
    is not trained again.
    """
    torch.set_num_threads(1)
    # Half precision: the rounded logits are what the calibrators get, and take half the room.
    make_networks(
        TRAININGS,
        names or TRAININGS,
        cache=cache,
        networks=networks,
        console=Console(),
        precision=np.float16,
    )


if __name__ == "__main__":
    main()
