"""Calibrators as PyTorch modules, with parameters that can be trained.

Importing this file imports torch: only `_torch` does, when it is asked to.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from dircal._core.data.simplex import ROUNDING

__all__ = [
    "AbstractCalibratorModule",
    "AverageOfMaps",
    "IdentityMap",
    "LinearMap",
    "LogisticMap",
    "OneVsRestMap",
    "Reading",
    "Slope",
    "Slopes",
    "Softening",
    "as_given",
]


_LARGEST = {torch.float64: 1e100, torch.float32: 1e30, torch.bfloat16: 1e30, torch.float16: 1e3}


class AbstractCalibratorModule(nn.Module):
    """A map from scores to probabilities, and the calibrator it was made from.

    ``classes`` are the labels of the columns that come out, ``columns`` those of what goes in.
    """

    source: bytes
    classes: list[Any]
    columns: list[Any]

    @abstractmethod
    def logits(self, scores: Tensor) -> Tensor:
        """What the softmax is taken of: for losses that take logits, such as cross-entropy."""

    def forward(self, scores: Tensor) -> Tensor:
        """Calibrated probabilities (n, n_classes) of scores (n, n_features)."""
        return torch.softmax(self.logits(scores), dim=-1)

    @abstractmethod
    def fitted(self) -> dict[str, Any]:
        """Fitted attributes of the calibrator that the parameters stand for today."""


class Reading(nn.Module):
    """From the columns that users pass to scores: what comes before anything is trained.

    ``kind`` is "log" for logarithms of probabilities, "log_as_given" for the same of rows that are
    divided by their sum only where it is off, "log_softmax", or "none"; ``floor`` is that of
    probabilities, zero for none.
    """

    floor: Tensor
    order: Tensor

    def __init__(self, kind: str, floor: float, order: Iterable[int], one_column: bool) -> None:
        super().__init__()
        self.kind = kind
        self.one_column = one_column
        self.has_floor = floor > 0.0
        self.register_buffer("floor", torch.tensor(floor, dtype=torch.float64))
        self.register_buffer("order", torch.tensor(list(order)))

    def columns(self, scores: Tensor) -> Tensor:
        """What users pass, in the order of the classes and in the precision of the module."""
        x = scores.to(self.floor.dtype)
        of_logits = self.kind in ("none", "log_softmax")
        if of_logits:
            # Products with weights have to be finite.
            largest = _LARGEST[self.floor.dtype]
            x = x.clamp(-largest, largest)
        if self.one_column and of_logits:
            x = torch.cat([torch.zeros_like(x), x], dim=-1)
        elif self.one_column:
            p = x.clamp(max=1.0)
            x = torch.cat([1.0 - p, p], dim=-1)
        return x.index_select(-1, self.order)

    def forward(self, scores: Tensor) -> Tensor:
        """Scores in the order of the classes, in the precision of the module."""
        x = self.columns(scores)
        if self.kind == "none":
            return x
        if self.kind == "log_softmax":
            s = torch.log_softmax(x, dim=-1)
            return torch.maximum(s, self.floor.log()) if self.has_floor else s
        x = as_given(x) if self.kind == "log_as_given" else x / x.sum(dim=-1, keepdim=True)
        # The floor of the calibrator may be too small for the numbers of this module.
        tiny = torch.full_like(self.floor, torch.finfo(self.floor.dtype).tiny)
        return torch.maximum(x, torch.maximum(self.floor, tiny)).log()


def as_given(x: Tensor) -> Tensor:
    """Rows divided by their sum where that is not one up to rounding."""
    total = x.sum(dim=-1, keepdim=True)
    return x / torch.where((total - 1.0).abs() > ROUNDING, total, torch.ones_like(total))


class Softening(nn.Module):
    """A temperature and a share of the uniform distribution; as `core.Softening`."""

    temperature: Tensor
    uniform: Tensor

    def __init__(self, temperature: float, uniform: float, normalised: bool) -> None:
        super().__init__()
        self.normalised = normalised
        self.register_buffer("temperature", torch.tensor(temperature, dtype=torch.float64))
        self.register_buffer("uniform", torch.tensor(uniform, dtype=torch.float64))

    def forward(self, scores: Tensor) -> Tensor:
        """Softened scores."""
        tempered = scores / self.temperature
        total = torch.logsumexp(tempered, dim=-1, keepdim=True)
        unsure = (self.uniform / scores.shape[-1]).log()
        soft = torch.logaddexp(tempered - total + torch.log1p(-self.uniform), unsure)
        return soft if self.normalised else soft + total


class Slope(nn.Module):
    """One slope for all classes: temperature scaling with slope 1/t."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(slope, dtype=torch.float64))

    def forward(self, scores: Tensor) -> Tensor:
        """Slope times score."""
        return self.slope * scores


class Slopes(nn.Module):
    """A slope and an intercept for each class."""

    def __init__(self, slopes: Tensor, intercepts: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(slopes)
        self.bias = nn.Parameter(intercepts)

    def forward(self, scores: Tensor) -> Tensor:
        """Slope times score plus intercept."""
        return self.weight * scores + self.bias


class LinearMap(AbstractCalibratorModule):
    """Scores, softened where the calibrator does so, one linear layer, softmax."""

    def __init__(
        self, reading: Reading, layer: nn.Module, softening: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.reading = reading
        self.softening = softening
        self.layer = layer

    def logits(self, scores: Tensor) -> Tensor:
        """W s + b."""
        s = self.reading(scores)
        out: Tensor = self.layer(s if self.softening is None else self.softening(s))
        return out

    def fitted(self) -> dict[str, Any]:
        """The matrix and the intercepts."""
        layer, k = self.layer, len(self.classes)
        eye, none = torch.eye(k, dtype=torch.float64), torch.zeros(k, dtype=torch.float64)
        if isinstance(layer, Slope):
            weight, bias = layer.slope.double() * eye, none
        elif isinstance(layer, Slopes):
            weight, bias = torch.diag(layer.weight.double()), layer.bias.double()
        else:
            assert isinstance(layer, nn.Linear)
            weight, bias = layer.weight.double(), layer.bias.double()
        return {"coef_": weight.detach().cpu().numpy(), "intercept_": bias.detach().cpu().numpy()}


class IdentityMap(AbstractCalibratorModule):
    """Probabilities as they are, or the softmax of logits; nothing to train."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.reading = reading

    def logits(self, scores: Tensor) -> Tensor:
        """The logits, or logarithms of the probabilities."""
        out: Tensor = self.reading(scores)
        return out

    def forward(self, scores: Tensor) -> Tensor:
        """Probabilities; zeros stay zeros."""
        if self.reading.kind == "none":
            return super().forward(scores)
        x = self.reading.columns(scores)
        return x / x.sum(dim=-1, keepdim=True)

    def fitted(self) -> dict[str, Any]:
        """There is nothing."""
        return {}


class LogisticMap(AbstractCalibratorModule):
    """Two classes: one slope for the log-odds, or one for each log-probability; an intercept."""

    def __init__(self, reading: Reading, slopes: dict[str, float], intercept: float) -> None:
        super().__init__()
        self.reading = reading
        self.names = list(slopes)
        self.slopes = nn.Parameter(torch.tensor(list(slopes.values()), dtype=torch.float64))
        self.intercept = nn.Parameter(torch.tensor(intercept, dtype=torch.float64))

    def logits(self, scores: Tensor) -> Tensor:
        """Zero for the first class, and the log-odds of the second."""
        s = self.reading(scores)
        negative, positive = s[..., :1], s[..., 1:]
        if len(self.names) == 1:
            log_odds = self.slopes[0] * (positive - negative)
        else:
            log_odds = self.slopes[0] * positive - self.slopes[1] * negative
        log_odds = log_odds + self.intercept
        return torch.cat([torch.zeros_like(log_odds), log_odds], dim=-1)

    def fitted(self) -> dict[str, Any]:
        """The slopes by their names, and the intercept."""
        slopes = self.slopes.detach().double().tolist()
        return {**dict(zip(self.names, slopes, strict=True)), "intercept_": self.intercept.item()}


class AbstractHolderModule(AbstractCalibratorModule):
    """A map made of others."""

    def __init__(self, members: Iterable[AbstractCalibratorModule]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def logits(self, scores: Tensor) -> Tensor:
        """Logarithms of the probabilities."""
        proba = self(scores)
        return torch.clamp(proba, min=torch.finfo(proba.dtype).tiny).log()

    def fitted(self) -> dict[str, Any]:
        """The members, which are asked themselves."""
        return {"calibrators_": list(self.members)}


class AverageOfMaps(AbstractHolderModule):
    """The mean of the probabilities of several maps."""

    def forward(self, scores: Tensor) -> Tensor:
        """Mean of the members, made to sum to one."""
        total = torch.stack([member(scores) for member in self.members]).sum(dim=0)
        return total / total.sum(dim=-1, keepdim=True)


class OneVsRestMap(AbstractHolderModule):
    """Each class against the rest, divided by the sum."""

    def __init__(self, members: Iterable[AbstractCalibratorModule], reading: Reading) -> None:
        super().__init__(members)
        self.reading = reading

    def forward(self, scores: Tensor) -> Tensor:
        """Probabilities of the members for their own class, made to sum to one."""
        x = self.reading.columns(scores)
        own, rest = self._pairs_of_logits(x) if self.reading.kind == "none" else self._pairs(x)
        columns = [
            member(torch.stack([rest[..., j], own[..., j]], dim=-1))[..., 1]
            for j, member in enumerate(self.members)
        ]
        proba = torch.stack(columns, dim=-1)
        total = proba.sum(dim=-1, keepdim=True)
        return torch.where(
            total > 0,
            proba / torch.where(total > 0, total, torch.ones_like(total)),
            torch.full_like(proba, 1.0 / len(columns)),
        )

    def _pairs(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Probabilities and the sums of the others; as `core.rest_of_proba`."""
        x = as_given(x)
        total = x.sum(dim=-1, keepdim=True)
        large = x > 0.5 * total
        others = torch.where(large, torch.zeros_like(x), x).sum(dim=-1, keepdim=True)
        return x, torch.where(large, others, total - x)

    def _pairs_of_logits(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and the log-sum-exp of the others; as `core.rest_of_logits`."""
        top = x.amax(dim=-1, keepdim=True)
        odds = (x - top).exp()
        total = odds.sum(dim=-1, keepdim=True)
        large = odds > 0.5 * total
        of_large = torch.logsumexp(x.masked_fill(large, -torch.inf), dim=-1, keepdim=True)
        of_others = top + (total - odds).masked_fill(large, 1.0).log()
        return x, torch.where(large, of_large, of_others)
