"""Every step as a PyTorch module, and maps as chains of them.

A new step is one more class with ``@module_of.register``. Importing this file imports torch: only
`_torch` does, when it is asked to.
"""

from abc import abstractmethod
from collections import Counter, OrderedDict
from functools import singledispatch
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dircal import maps
from dircal._core.model.statistics import GAP_SCALE
from dircal._typing import FloatArray

__all__ = ["AbstractStepModule", "Chain", "module_of"]


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
        return _log(self(x))

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
        for module in first:
            x = module(x)
        return cast(AbstractStepModule, last).logits(x)

    def to_map(self) -> maps.CalibrationMap:
        """The map, with the parameters of today."""
        modules = cast(list[AbstractStepModule], list(self))
        steps = [module.to_step() for module in modules]
        for i, following in enumerate(steps[1:]):
            if isinstance(following, maps.Softmax):
                steps[i] = _with_reference(steps[i], modules[i].origin)
        return maps.CalibrationMap(self.n_columns, tuple(steps))


@singledispatch
def module_of(step: maps.AbstractStep) -> AbstractStepModule:
    """The module of a step."""
    raise ValueError(
        f"`calibrator` has the step {type(step).__name__}, which has no module. "
        "Use to_onnx or to_python."
    )


@module_of.register(maps.Interpolation)
@module_of.register(maps.Lookup)
def _(step: maps.AbstractStep) -> AbstractStepModule:
    raise ValueError(
        f"`calibrator` has the step {type(step).__name__}, and a curve with edges has no gradient, "
        "so that there would be nothing to train. Use to_onnx or to_python."
    )


@module_of.register(maps.Columns)
class _Columns(AbstractStepModule):
    order: Tensor

    def __init__(self, step: maps.Columns) -> None:
        super().__init__(step)
        # Part of the map, not of its state: another map with the same labels has the same.
        self.register_buffer("order", torch.tensor(step.order), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x.index_select(-1, self.order)


@module_of.register(maps.Complement)
class _Complement(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        p = x.clamp(max=1.0)
        return torch.cat([1.0 - p, p], dim=-1)


@module_of.register(maps.ZeroLogit)
class _ZeroLogit(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(x), x], dim=-1)


@module_of.register(maps.MaskedAsLeast)
class _MaskedAsLeast(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        masked = torch.isneginf(x)
        least = x.masked_fill(masked, torch.inf).amin(dim=-1, keepdim=True)
        return torch.where(masked, least, x)


@module_of.register(maps.Normalise)
class _Normalise(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        total = x.sum(dim=-1, keepdim=True)
        if self.origin.tolerance == 0.0:
            return x / total
        far = (total - 1.0).abs() > self.origin.tolerance
        return x / torch.where(far, total, torch.ones_like(total))


@module_of.register(maps.LogProbability)
class _LogProbability(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        return _log(x, self.origin.clip)


@module_of.register(maps.LogSoftmax)
class _LogSoftmax(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        scores = torch.log_softmax(x, dim=-1)
        clip = self.origin.clip
        return scores.clamp(min=float(np.log(clip))) if clip > 0.0 else scores


@module_of.register(maps.UniformMixture)
class _UniformMixture(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        step = self.origin
        tempered = step.slope * x
        total = torch.logsumexp(tempered, dim=-1, keepdim=True)
        sharp = tempered - total + float(np.log1p(-step.uniform_weight))
        uniform = torch.full_like(sharp, float(np.log(step.uniform_weight / x.shape[-1])))
        mixed = torch.logaddexp(sharp, uniform)
        return mixed if step.normalised else mixed + total


@module_of.register(maps.Scale)
class _Scale(AbstractStepModule):
    def __init__(self, step: maps.Scale) -> None:
        super().__init__(step)
        self.slope = _parameter(np.array(step.slope))

    def forward(self, x: Tensor) -> Tensor:
        return self.slope * x

    def to_step(self) -> maps.Scale:
        slope = self.slope.item()
        if slope <= 0.0:
            raise ValueError(
                f"`module` has the slope {slope:.3g}, which is no temperature. "
                "Train with a smaller learning rate, or make the module of a VectorScaling."
            )
        return maps.Scale(slope)

    def extra_repr(self) -> str:
        return ""


@module_of.register(maps.Diagonal)
class _Diagonal(AbstractStepModule):
    def __init__(self, step: maps.Diagonal) -> None:
        super().__init__(step)
        self.slopes = _parameter(step.slopes)
        self.intercepts = _parameter(step.intercepts)

    def forward(self, x: Tensor) -> Tensor:
        return self.slopes * x + self.intercepts

    def to_step(self) -> maps.Diagonal:
        return maps.Diagonal(_array(self.slopes), _array(self.intercepts))

    def extra_repr(self) -> str:
        return f"n={len(self.slopes)}"


@module_of.register(maps.Affine)
class _Affine(AbstractStepModule):
    """With the names that a linear layer has in torch."""

    def __init__(self, step: maps.Affine) -> None:
        super().__init__(step)
        self.weight = _parameter(step.matrix)
        self.bias = _parameter(step.intercepts)

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    def to_step(self) -> maps.Affine:
        return maps.Affine(_array(self.weight), _array(self.bias))

    def extra_repr(self) -> str:
        n_out, n_in = self.weight.shape
        return f"in_features={n_in}, out_features={n_out}"


@module_of.register(maps.WithCurves)
class _WithCurves(AbstractStepModule):
    """A linear chain, and the coefficients of the curves."""

    def __init__(self, step: maps.WithCurves) -> None:
        super().__init__(step)
        self.linear = Chain(step.linear)
        self.coefficients = _parameter(step.coefficients)

    def forward(self, x: Tensor) -> Tensor:
        scores = torch.log_softmax(x, dim=-1)
        gap = x - x.amax(dim=-1, keepdim=True)
        entropy = -(scores.exp() * scores).sum(dim=-1, keepdim=True) / float(np.log(x.shape[-1]))
        log_odds = x - _rest_of_logits(x)
        statistics = [gap * gap / GAP_SCALE, scores * entropy]
        statistics += [functional.softplus(log_odds - float(knot)) for knot in self.origin.knots]
        curves = sum(a * f for a, f in zip(self.coefficients.T, statistics, strict=True))
        logits: Tensor = self.linear(x) + curves
        return logits

    def to_step(self) -> maps.WithCurves:
        return maps.WithCurves(self.linear.to_map(), _array(self.coefficients), self.origin.knots)

    def extra_repr(self) -> str:
        return f"knots={len(self.origin.knots)}"


@module_of.register(maps.Softmax)
class _Softmax(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        return x


@module_of.register(maps.LogOdds)
class _LogOdds(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        return x[..., 1:] - x[..., :1]


@module_of.register(maps.Sigmoid)
class _Sigmoid(AbstractStepModule):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.logits(x), dim=-1)

    def logits(self, x: Tensor) -> Tensor:
        """Zero for the first class, and the log-odds of the second."""
        return torch.cat([torch.zeros_like(x), x], dim=-1)


class AbstractComposite(AbstractStepModule):
    """A step made of maps."""

    def __init__(self, step: Any) -> None:
        super().__init__(step)
        self.members = nn.ModuleList(map(Chain, step.members))

    def _maps(self) -> tuple[maps.CalibrationMap, ...]:
        return tuple(cast(Chain, member).to_map() for member in self.members)

    def extra_repr(self) -> str:
        return ""


@module_of.register(maps.MeanOfMaps)
class _MeanOfMaps(AbstractComposite):
    def forward(self, x: Tensor) -> Tensor:
        total = torch.stack([member(x) for member in self.members]).sum(dim=0)
        return total / total.sum(dim=-1, keepdim=True)

    def to_step(self) -> maps.MeanOfMaps:
        return maps.MeanOfMaps(self._maps())


@module_of.register(maps.OneVsRest)
class _OneVsRest(AbstractComposite):
    def forward(self, x: Tensor) -> Tensor:
        rest = _rest_of_logits(x) if self.origin.scale == "logit" else _rest_of_proba(x)
        columns = [
            member(torch.stack([rest[..., j], x[..., j]], dim=-1))[..., 1]
            for j, member in enumerate(self.members)
        ]
        proba = torch.stack(columns, dim=-1)
        total = proba.sum(dim=-1, keepdim=True)
        none = total <= 0.0
        # Chosen twice, since the gradient of what is not chosen has to be finite as well.
        shares = proba / torch.where(none, torch.ones_like(total), total)
        return torch.where(none, torch.full_like(proba, 1.0 / len(columns)), shares)

    def to_step(self) -> maps.OneVsRest:
        return maps.OneVsRest(self._maps(), self.origin.scale)


def _rest_of_proba(x: Tensor) -> Tensor:
    """As `rest_of_proba` of the core."""
    total = x.sum(dim=-1, keepdim=True)
    large = x > 0.5 * total
    others = torch.where(large, torch.zeros_like(x), x).sum(dim=-1, keepdim=True)
    return torch.where(large, others, total - x)


def _rest_of_logits(x: Tensor) -> Tensor:
    """As `rest_of_logits` of the core."""
    top = x.amax(dim=-1, keepdim=True)
    odds = (x - top).exp()
    total = odds.sort(dim=-1).values.sum(dim=-1, keepdim=True)
    large = odds > 0.5 * total
    others = x.masked_fill(large, -torch.inf).sort(dim=-1).values
    of_large = torch.logsumexp(others, dim=-1, keepdim=True)
    of_others = top + (total - odds).masked_fill(large, 1.0).log()
    return torch.where(large, of_large, of_others)


def _log(proba: Tensor, clip: float = 0.0) -> Tensor:
    """Logarithms; the clip of the map may be too small for the numbers of this tensor."""
    return proba.clamp(min=max(clip, torch.finfo(proba.dtype).tiny)).log()


def _parameter(values: FloatArray) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values, dtype=torch.float64))


def _array(parameter: Tensor) -> FloatArray:
    array: FloatArray = parameter.detach().double().cpu().numpy()
    return array


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
