"""Small networks of our own, each trained as it is and with one option changed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from torch import nn

from experiments.neural.training._models import convnet, lenet5, mlp
from experiments.neural.training._parts import few_of_training
from experiments.neural.training._recipes import Recipe

from ._networks import BASES, OPTIONS

__all__ = ["TRAININGS"]

_FITS = 5000
"""Pictures to fit calibrators on, as many as the paper has on CIFAR."""
_SHORT = 4
"""By what the number of epochs is divided."""
_CHANGED: dict[str, dict[str, Any]] = {
    "plain": {},
    "smoothing": {"smoothing": 0.1},
    "mixup": {"mixup": 1.0},
    "focal": {"focal": 3.0},
    "no_decay": {"decay": 0.0},
    "seed1": {"seed": 1},
}
# One training for each option is far too few to know how much chance there is in training; a
# second seed of two networks says at least of what order it is.
_LEFT_OUT = ("fashion_mlp_seed1",)


def _plain(name: str, pixels: str, model: Callable[[], nn.Module], rate: float) -> Recipe:
    base = BASES[name]
    parts = partial(few_of_training, n_trains=base.n_pictures, n_fits=_FITS)
    return Recipe(pixels, model, parts, base.epochs, rate)


def _changed(plain: Recipe, option: str) -> Recipe:
    if option == "short":
        return replace(plain, epochs=plain.epochs // _SHORT)
    return replace(plain, **_CHANGED[option])


_PLAIN = {
    "fashion_mlp": _plain("fashion_mlp", "fashion-mnist", mlp, 0.1),
    "fashion_convnet": _plain("fashion_convnet", "fashion-mnist", convnet, 0.05),
    "c10_lenet5": _plain("c10_lenet5", "cifar10", partial(lenet5, normalised=True), 0.1),
}
TRAININGS: dict[str, Recipe] = {
    f"{name}_{option}": _changed(plain, option)
    for name, plain in _PLAIN.items()
    for option in OPTIONS
    if f"{name}_{option}" not in _LEFT_OUT
}
