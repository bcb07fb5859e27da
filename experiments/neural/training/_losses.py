"""What a batch costs, by the options of a recipe."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from ._recipes import Recipe

__all__ = ["focal_loss", "loss_of_batch"]


def loss_of_batch(recipe: Recipe, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """The mean loss of a batch, of mixed pictures where the recipe mixes."""
    if not recipe.mixup:
        return _loss(recipe, model(x), y)
    share = torch.distributions.Beta(recipe.mixup, recipe.mixup).sample()
    other = torch.randperm(len(x))
    logits = model(share * x + (1 - share) * x[other])
    return share * _loss(recipe, logits, y) + (1 - share) * _loss(recipe, logits, y[other])


def _loss(recipe: Recipe, logits: Tensor, y: Tensor) -> Tensor:
    if recipe.focal:
        return focal_loss(logits, y, recipe.focal)
    return cross_entropy(logits, y, label_smoothing=recipe.smoothing)


def focal_loss(logits: Tensor, y: Tensor, exponent: float) -> Tensor:
    """Cross entropy that counts a row the less the more sure it is (Lin and others, 2017)."""
    logs = log_softmax(logits, dim=1).gather(1, y[:, None])[:, 0]
    return -((1 - logs.exp()) ** exponent * logs).mean()
