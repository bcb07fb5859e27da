"""The module of a calibrator: the chain of its steps, and what is around it.

Importing this file imports torch: only `_torch` does, when it is asked to.
"""

import numpy as np
import torch
from torch import Tensor, nn

from dircal._core.data.simplex import TINY
from dircal.export._fitted import Fitted
from dircal.export._torch_steps import Chain

__all__ = ["CalibratorModule"]

# Products of logits this large with moderate weights are finite in numbers of the type.
_LARGEST = {torch.float64: 1e100, torch.float32: 1e30, torch.bfloat16: 1e30, torch.float16: 1e3}


class CalibratorModule(nn.Module):
    """A map from scores to probabilities, and the calibrator it was made from.

    ``classes`` are the labels of the columns that come out, ``columns`` those of what goes in;
    ``source`` is the calibrator as a file holds it, and ``steps`` its map.
    """

    precision: Tensor

    def __init__(self, fitted: Fitted, source: bytes) -> None:
        super().__init__()
        self.source = source
        self.classes = fitted.classes
        self.columns = fitted.columns
        self.reads_logits = fitted.input_scale == "logit"
        # Follows `module.float()` and the like, also where there is no parameter to follow.
        self.register_buffer("precision", torch.zeros((), dtype=torch.float64), persistent=False)
        self.steps = Chain(fitted.chain)
        arranged, others = fitted.chain.after_columns()
        self._n_arranging = len(arranged.steps)
        self._steps_fill = others.fills_masked

    def forward(self, scores: Tensor) -> Tensor:
        """Calibrated probabilities (n, n_classes) of scores (n, n_features)."""
        x = self._read(scores)
        out: Tensor = self.steps(self._filled(x))
        return _without_masked(out, self._masked(x)) if self.reads_logits else out

    def logits(self, scores: Tensor) -> Tensor:
        """What the softmax is taken of: for losses that take logits, such as cross-entropy."""
        x = self._read(scores)
        out = self.steps.logits(self._filled(x))
        return out.masked_fill(self._masked(x), -torch.inf) if self.reads_logits else out

    def _read(self, scores: Tensor) -> Tensor:
        """What users pass, in the precision of the module; -inf stays what it is."""
        dtype = self.precision.dtype
        x = scores.to(dtype)
        if not self.reads_logits:
            return x
        return torch.where(torch.isneginf(x), x, x.clamp(-_LARGEST[dtype], _LARGEST[dtype]))

    def _filled(self, x: Tensor) -> Tensor:
        """Scores with something finite for masked classes, unless a step sees to it."""
        if not self.reads_logits or self._steps_fill:
            return x
        # A single column stands beside a zero.
        top = x.amax(dim=-1, keepdim=True) if x.shape[-1] > 1 else torch.zeros_like(x)
        return torch.where(torch.isneginf(x), top + float(np.log(TINY)), x)

    def _masked(self, x: Tensor) -> Tensor:
        """Which of the classes are masked."""
        for module in list(self.steps)[: self._n_arranging]:
            x = module(x)
        return torch.isneginf(x)


def _without_masked(proba: Tensor, masked: Tensor) -> Tensor:
    """As `drop_masked` of the core."""
    proba = proba.masked_fill(masked, 0.0)
    total = proba.sum(dim=-1, keepdim=True)
    some = torch.where(total > 0.0, proba, (~masked).to(proba.dtype))
    return some / some.sum(dim=-1, keepdim=True)
