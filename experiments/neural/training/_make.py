"""Making networks by their recipes, one after another."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ._pixels import load_pictures
from ._recipes import Recipe
from ._train import Epoch, save_logits, train

__all__ = ["make_networks"]


def make_networks(
    recipes: Mapping[str, Recipe],
    names: Iterable[str],
    *,
    cache: Path,
    networks: Path,
    console: Console,
    precision: Any = np.float32,
) -> None:
    """Train each network whose logits are not there, and write them in this precision."""
    for name in names:
        if (networks / f"{name}.npz").exists():
            console.print(f"{name}: there already", highlight=False)
        else:
            _make(name, recipes[name], cache, networks, console, precision)


def _make(
    name: str, recipe: Recipe, cache: Path, networks: Path, console: Console, precision: Any
) -> None:
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
    error = save_logits(model, pictures, divided, npz, pickled, precision=precision)
    console.print(f"{name}: test error {100 * error:.2f} %, logits in {npz} and {pickled}")
