"""Which networks are trained, on which pictures, and for how long."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn

from ._models import convnet, lenet5, mlp, resnet8
from ._parts import Parts, half_of_test, resplit, tenth_of_training

__all__ = ["RECIPES", "Recipe"]


@dataclass(frozen=True)
class Recipe:
    """How one network is made."""

    pixels: str
    model: Callable[[], nn.Module]
    parts: Parts
    epochs: int
    learning_rate: float
    """The largest; it rises to this in the first third of the steps and then falls to nothing."""
    moved: bool = False
    """Whether pictures are shifted by up to four pixels and mirrored while training."""
    decay: float = 5e-4
    """The weight decay."""
    smoothing: float = 0.0
    """The share of each label that goes to all classes alike."""
    mixup: float = 0.0
    """Both parameters of the beta distribution of the shares in which two pictures are mixed."""
    focal: float = 0.0
    """The exponent of the focal loss, which with zero is cross entropy."""
    seed: int = 0


# Few epochs: all six together take less than half an hour of one core.
RECIPES: dict[str, Recipe] = {
    "mnist_mlp": Recipe("mnist", mlp, half_of_test, 12, 0.1),
    "c10_lenet5": Recipe(
        "cifar10", partial(lenet5, normalised=False), tenth_of_training, 24, 0.05, True
    ),
    "fashion_convnet": Recipe("fashion-mnist", convnet, tenth_of_training, 5, 0.05),
    "c10_lenet5_seed13": Recipe(
        "cifar10", partial(lenet5, normalised=True), partial(resplit, seed=13), 14, 0.1, True
    ),
    "c10_lenet5_seed45": Recipe(
        "cifar10", partial(lenet5, normalised=True), partial(resplit, seed=45), 14, 0.1, True
    ),
    "c10_resnet8": Recipe("cifar10", resnet8, tenth_of_training, 7, 0.2, True),
}
