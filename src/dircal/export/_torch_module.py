"""The module of a calibrator: its labels, and the chain of its steps.

Importing this file imports torch: only `_torch` does, when it is asked to.
"""

import torch
from torch import Tensor, nn

from dircal.export._fitted import Fitted
from dircal.export._torch_steps import Chain, MaskedChain

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
        self.steps = (MaskedChain if self.reads_logits else Chain)(fitted.chain)

    def forward(self, scores: Tensor) -> Tensor:
        """Calibrated probabilities (n, n_classes) of scores (n, n_features)."""
        proba: Tensor = self.steps(self._read(scores))
        return proba

    def logits(self, scores: Tensor) -> Tensor:
        """What the softmax is taken of: for losses that take logits, such as cross-entropy."""
        return self.steps.logits(self._read(scores))

    def _read(self, scores: Tensor) -> Tensor:
        """What users pass, in the precision of the module; -inf stays what it is."""
        dtype = self.precision.dtype
        x = scores.to(dtype)
        if not self.reads_logits:
            return x
        return torch.where(torch.isneginf(x), x, x.clamp(-_LARGEST[dtype], _LARGEST[dtype]))
