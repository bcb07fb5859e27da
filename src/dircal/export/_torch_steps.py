"""Every step as a PyTorch module.

A new step is one more class with ``@module_of.register``. Importing this file imports torch: only
`_torch` does, when it is asked to.
"""

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dircal import maps
from dircal._core.model.statistics import GAP_SCALE
from dircal._typing import FloatArray
from dircal.export._torch_chain import AbstractStepModule, Chain, MaskedChain, log, module_of

__all__ = ["Chain", "MaskedChain", "module_of"]

# Beyond this softplus is the identity to all digits.
_LINEAR = 40.0


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
        return log(x, self.origin.clip)


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
        statistics += [_softplus(log_odds - float(knot)) for knot in self.origin.knots]
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


def _softplus(x: Tensor) -> Tensor:
    """Ln(1 + exp x)."""
    return functional.softplus(x, threshold=_LINEAR)


def _parameter(values: FloatArray) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values, dtype=torch.float64))


def _array(parameter: Tensor) -> FloatArray:
    array: FloatArray = parameter.detach().double().cpu().numpy()
    return array
