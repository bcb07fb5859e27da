"""torch-uncertainty: scalers without a model, on logits that a data loader gives."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_uncertainty.post_processing import (
    BBQScaler,
    DirichletScaler,
    HistogramBinningScaler,
    IsotonicRegressionScaler,
    MatrixScaler,
    TemperatureScaler,
    VectorScaler,
)

__all__ = [
    "CALIBRATORS",
    "LOGITS",
    "NOT_OFFERED",
    "fit",
    "fit_logits",
    "predict",
    "predict_logits",
]

CALIBRATORS: dict[str, Callable[[Any], Any]] = {
    "TemperatureScaler": lambda classes: TemperatureScaler(),
    "VectorScaler": lambda classes: VectorScaler(len(classes)),
    "MatrixScaler": lambda classes: MatrixScaler(len(classes)),
    "DirichletScaler": lambda classes: DirichletScaler(len(classes)),
    "HistogramBinningScaler": lambda classes: HistogramBinningScaler(),
    "IsotonicRegressionScaler": lambda classes: IsotonicRegressionScaler(),
    "BBQScaler": lambda classes: BBQScaler(),
}
LOGITS = CALIBRATORS
_TENSORS = "data loaders give tensors, and labels are indices as everywhere in PyTorch"
NOT_OFFERED = {
    "weights": "data loaders give inputs and targets, no weights",
    "zeros": 'the documentation of `fit`: "provide logits and not probabilities"',
    "text": _TENSORS,
    "numbers": _TENSORS,
    "pandas": _TENSORS,
    "clone": "scalers are modules of PyTorch, no estimators of scikit-learn",
    "checks": "scalers are modules of PyTorch, no estimators of scikit-learn",
}


def fit_logits(model: Any, logits: Any, y: Any) -> Any:
    """Fitted to all rows in one batch."""
    rows = TensorDataset(torch.as_tensor(logits, dtype=torch.float32), torch.as_tensor(y))
    model.fit(DataLoader(rows, batch_size=len(rows)), progress=False)
    return model


def predict_logits(model: Any, logits: Any) -> Any:
    """What comes out are logits again."""
    out = model(torch.as_tensor(logits, dtype=torch.float32))
    return torch.softmax(out, dim=-1).detach().numpy()


def fit(model: Any, P: Any, y: Any) -> Any:
    """Log-probabilities are logits."""
    return fit_logits(model, torch.log(torch.as_tensor(P)), y)


def predict(model: Any, P: Any) -> Any:
    """Calibrated probabilities."""
    return predict_logits(model, torch.log(torch.as_tensor(P)))
