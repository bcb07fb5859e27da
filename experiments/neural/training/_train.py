"""Training with a checkpoint after every epoch, from which a stopped run goes on."""

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from experiments._shared.files import write_arrays_compressed, write_whole

from ._losses import loss_of_batch
from ._parts import Divided
from ._pixels import Pictures
from ._recipes import Recipe

__all__ = ["Epoch", "save_logits", "train"]

_BATCH = 128
_MOMENTUM = 0.9
_SHIFT = 4


@dataclass(frozen=True)
class Epoch:
    """What a person wants to know after each epoch."""

    number: int
    loss: float


class _Data:
    """Pictures as numbers of mean zero and spread one over the training part."""

    def __init__(self, pictures: Pictures, divided: Divided) -> None:
        sample = pictures.pixels[divided.trains].astype(np.float32)
        axes = (0, 2, 3)
        self._mean = torch.from_numpy(sample.mean(axis=axes, keepdims=True))
        self._spread = torch.from_numpy(sample.std(axis=axes, keepdims=True))
        self._pixels = torch.from_numpy(np.ascontiguousarray(pictures.pixels))
        self.labels = torch.from_numpy(pictures.labels)

    def __call__(self, rows: Tensor) -> Tensor:
        scaled: Tensor = (self._pixels[rows].float() - self._mean) / self._spread
        return scaled


def train(
    recipe: Recipe,
    pictures: Pictures,
    divided: Divided,
    checkpoint: Path,
    tell: Callable[[Epoch], None],
) -> nn.Module:
    """Train, or go on from the checkpoint; the outcome is the same."""
    torch.manual_seed(recipe.seed)
    data = _Data(pictures, divided)
    model = recipe.model()
    optimiser = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=_MOMENTUM, nesterov=True, weight_decay=recipe.decay
    )
    trains = torch.from_numpy(divided.trains)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser,
        max_lr=recipe.learning_rate,
        total_steps=recipe.epochs * -(-len(trains) // _BATCH),
        cycle_momentum=False,
    )
    stateful = {"model": model, "optimiser": optimiser, "schedule": schedule}
    for number in range(_resume(checkpoint, stateful), recipe.epochs):
        # A seed for each epoch: a run that was stopped sees the same pictures as one that was not.
        torch.manual_seed(1000 * (1 + recipe.seed) + number)
        loss = _one_epoch(recipe, model, optimiser, schedule, data, trains)
        _keep(checkpoint, stateful, number + 1)
        tell(Epoch(number + 1, loss))
    return model


def _one_epoch(
    recipe: Recipe, model: nn.Module, optimiser: Any, schedule: Any, data: _Data, trains: Tensor
) -> float:
    model.train()
    total = 0.0
    for rows in torch.split(trains[torch.randperm(len(trains))], _BATCH):
        x = data(rows)
        if recipe.moved:
            x = _moved(x)
        loss = loss_of_batch(recipe, model, x, data.labels[rows])
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
        total += float(loss.detach()) * len(rows)
    return total / len(trains)


def _moved(x: Tensor) -> Tensor:
    """Each picture shifted by its own number of pixels, and every other one mirrored."""
    n, _, height, width = x.shape
    wide = pad(x, (_SHIFT,) * 4)
    down, right = torch.randint(0, 2 * _SHIFT + 1, (2, n))
    lines = (down[:, None] + torch.arange(height))[:, None, :, None]
    columns = right[:, None] + torch.arange(width)
    mirrored = torch.rand(n) < 0.5
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)[:, None, None, :]
    picture = torch.arange(n)[:, None, None, None]
    channel = torch.arange(x.shape[1])[None, :, None, None]
    return wide[picture, channel, lines, columns]


def _keep(checkpoint: Path, stateful: dict[str, Any], epochs: int) -> None:
    content = io.BytesIO()
    states = {name: one.state_dict() for name, one in stateful.items()}
    torch.save({"epochs": epochs, **states}, content)
    write_whole(checkpoint, content.getvalue())


def _resume(checkpoint: Path, stateful: dict[str, Any]) -> int:
    """Restore what the checkpoint has; gives the number of finished epochs."""
    if not checkpoint.exists():
        return 0
    stored = torch.load(checkpoint, weights_only=True)
    for name, one in stateful.items():
        one.load_state_dict(stored[name])
    epochs: int = stored["epochs"]
    return epochs


def save_logits(
    model: nn.Module,
    pictures: Pictures,
    divided: Divided,
    npz: Path,
    pickled: Path,
    *,
    precision: Any = np.float32,
) -> float:
    """Write logits and labels in both formats; gives the error on the test pictures."""
    data = _Data(pictures, divided)
    model.eval()
    tests = _outputs(model, data, divided.tests, precision)
    if divided.fits is None:
        write_arrays_compressed(npz, logits=tests[0], labels=tests[1])
        # The form in which networks that others had trained came to the paper.
        content: Any = tests
    else:
        fits = _outputs(model, data, divided.fits, precision)
        parts = {"val_logits": fits[0], "val_labels": fits[1]}
        write_arrays_compressed(npz, **parts, test_logits=tests[0], test_labels=tests[1])
        content = [(logits, labels[:, None]) for logits, labels in (fits, tests)]
    write_whole(pickled, pickle.dumps(content, protocol=2))
    return float((tests[0].argmax(axis=1) != tests[1]).mean())


def _outputs(model: nn.Module, data: _Data, rows: Any, precision: Any) -> tuple[Any, Any]:
    with torch.inference_mode():
        batches = torch.split(torch.from_numpy(rows), 1000)
        logits = torch.cat([model(data(batch)) for batch in batches])
    return logits.numpy().astype(precision), data.labels[torch.from_numpy(rows)].numpy()
