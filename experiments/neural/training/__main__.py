"""The command: ``python -m experiments.neural.training``."""

import time
from collections.abc import Sequence
from pathlib import Path

import click
import torch
from rich.console import Console

from ._pixels import load_pictures
from ._recipes import RECIPES
from ._train import Epoch, save_logits, train

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
    for name in names or RECIPES:
        if (networks / f"{name}.npz").exists():
            console.print(f"{name}: there already", highlight=False)
        else:
            _make(name, cache, networks, console)


def _make(name: str, cache: Path, networks: Path, console: Console) -> None:
    recipe = RECIPES[name]
    pictures = load_pictures(recipe.pixels, cache / "pixels")
    divided = recipe.parts(len(pictures.labels), pictures.n_test)
    began = time.monotonic()
    first: list[int] = []

    def tell(epoch: Epoch) -> None:
        first.append(epoch.number)
        each = (time.monotonic() - began) / len(first)
        left = each * (recipe.epochs - epoch.number) / 60
        console.print(
            f"{name}: epoch {epoch.number} of {recipe.epochs}, loss {epoch.loss:.3f}, about "
            f"{left:.1f} min left",
            highlight=False,
        )

    model = train(recipe, pictures, divided, cache / "checkpoints" / f"{name}.pt", tell)
    npz, pickled = networks / f"{name}.npz", cache / "pickled" / f"probs_{name}_logits.p"
    error = save_logits(model, pictures, divided, npz, pickled)
    console.print(f"{name}: test error {100 * error:.2f} %, logits in {npz} and {pickled}")


if __name__ == "__main__":
    main()
