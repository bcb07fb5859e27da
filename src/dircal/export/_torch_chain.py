"""What modules of steps have in common, and maps as chains of them.

Importing this file imports torch: only `_torch` does, when it is asked to.
"""

from abc import abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Iterable
from functools import singledispatch
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from dircal import maps
from dircal._core.data.simplex import TINY

__all__ = ["AbstractStepModule", "Chain", "MaskedChain", "log", "module_of"]


class AbstractStepModule(nn.Module):
    """One step of a map, on tensors whose last dimension has the columns.

    Without parameters it stays the step that it was made of; with parameters, `to_step` tells what
    has become of it.
    """

    def __init__(self, step: Any) -> None:
        super().__init__()
        self.origin = step

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """What the step makes of columns."""

    def logits(self, x: Tensor) -> Tensor:
        """What the softmax is taken of, where this step is the last of a map."""
        return log(self(x))

    def to_step(self) -> maps.AbstractStep:
        """The step, with the parameters of today."""
        step: maps.AbstractStep = self.origin
        return step

    def _get_name(self) -> str:
        return type(self.origin).__name__

    def extra_repr(self) -> str:
        """Fields of the step, which stay as they were."""
        return repr(self.origin).partition("(")[2].removesuffix(")")


class Chain(nn.Sequential):
    """A map as a module: ``chain.affine`` is the step `Affine` of it, and so on."""

    def __init__(self, chain: maps.CalibrationMap) -> None:
        times: Counter[str] = Counter()
        modules: OrderedDict[str, nn.Module] = OrderedDict()
        for step in chain.steps:
            name = _snake(type(step).__name__)
            times[name] += 1
            modules[f"{name}_{times[name]}" if times[name] > 1 else name] = module_of(step)
        super().__init__(modules)
        self.n_columns = chain.n_columns

    def logits(self, x: Tensor) -> Tensor:
        """The map without its softmax; logarithms of what comes out where it ends otherwise."""
        *first, last = self
        return cast(AbstractStepModule, last).logits(_through(first, x))

    def to_map(self) -> maps.CalibrationMap:
        """The map, with the parameters of today."""
        modules = cast(list[AbstractStepModule], list(self))
        steps = [module.to_step() for module in modules]
        for i, following in enumerate(steps[1:]):
            if isinstance(following, maps.Softmax):
                steps[i] = _with_reference(steps[i], modules[i].origin)
        return maps.CalibrationMap(self.n_columns, tuple(steps))


class MaskedChain(Chain):
    """A map of logits as a module, with the masks of `Masked`."""

    def __init__(self, chain: maps.CalibrationMap) -> None:
        super().__init__(chain)
        *columns, masked = chain.with_masks.steps
        assert isinstance(masked, maps.Masked)
        self.n_arranging, self.fills = len(columns), masked.fills

    def forward(self, x: Tensor) -> Tensor:
        """Probabilities, exactly zero for masked classes."""
        return torch.softmax(self.logits(x), dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        """Logits, -inf for masked classes."""
        *others, last = self
        given = _through(others[: self.n_arranging], x)
        masked = torch.isneginf(given)
        if self.fills:
            # As `Masked`.
            top = given.amax(dim=-1, keepdim=True)
            given = torch.where(masked, top + float(np.log(TINY)), given)
        inner = _through(others[self.n_arranging :], given)
        return cast(AbstractStepModule, last).logits(inner).masked_fill(masked, -torch.inf)


@singledispatch
def module_of(step: maps.AbstractStep) -> AbstractStepModule:
    """The module of a step."""
    raise ValueError(
        f"`calibrator` has the step {type(step).__name__}, which has no module. "
        "Use to_onnx or to_python."
    )


def _through(modules: Iterable[nn.Module], x: Tensor) -> Tensor:
    for module in modules:
        x = module(x)
    return x


def log(proba: Tensor, clip: float = 0.0) -> Tensor:
    """Logarithms; the clip of the map may be too small for the numbers of this tensor."""
    return proba.clamp(min=max(clip, torch.finfo(proba.dtype).tiny)).log()


def _with_reference(step: maps.AbstractStep, origin: maps.AbstractStep) -> maps.AbstractStep:
    """A linear map before a softmax, with a last row of zeros if it had one before training.

    The softmax does not see what all rows have in common: the last row can be taken from each.
    """
    if not (isinstance(step, maps.Affine) and isinstance(origin, maps.Affine)):
        return step
    if origin.matrix[-1].any() or origin.intercepts[-1] != 0.0:
        return step
    return maps.Affine(step.matrix - step.matrix[-1], step.intercepts - step.intercepts[-1])


def _snake(name: str) -> str:
    return "".join(f"_{a.lower()}" if a.isupper() else a for a in name).lstrip("_")
