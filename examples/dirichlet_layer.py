"""A network whose last layer is a Dirichlet map, fitted there by PyTorch.

A small network learns handwritten digits with noise on them. Then our layer is put behind its
logits, the network is frozen, and the layer is fitted on pictures that the network has not seen,
with the penalty of the paper (ODIR). The objective is convex: PyTorch arrives where our own solver
does.

    python -m examples.dirichlet_layer
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dircal import DirichletCalibrator, metrics
from dircal.export import from_torch, to_torch

__all__ = ["Strengths", "calibrated_network", "fit_layer", "objective", "train_network"]

_EPOCHS = 100
_NOISE = 0.4
_STEPS = 500


@dataclass(frozen=True)
class Strengths:
    """Of the penalty, in the units of the paper's formula."""

    lam: float
    mu: float

    @classmethod
    def usual(cls, n: int, k: int) -> "Strengths":
        """A fixed prior for n rows of k classes."""
        return cls((k * (k - 1)) ** 2 / n, k**2 / n)


def train_network(X: Tensor, y: Tensor) -> nn.Module:
    """A network that is too sure of itself, as networks are."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(X.shape[1], 64), nn.ReLU(), nn.Linear(64, 10)).double()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(_EPOCHS):
        optimiser.zero_grad()
        torch.autograd.backward(cross_entropy(network(X), y))
        optimiser.step()
    return network


def calibrated_network(network: nn.Module, logits: Tensor, y: Tensor) -> nn.Sequential:
    """The network, frozen, with a Dirichlet layer behind it that does not do much yet."""
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    # Strengths without limit leave a slope for each class: a good place to start.
    start = DirichletCalibrator(lam=1e6, mu=1e6, input_scale="logit", classes=range(10))
    return nn.Sequential(network, to_torch(start.fit(logits.numpy(), y.numpy())))


def objective(layer: Any, logits: Tensor, y: Tensor, strengths: Strengths) -> Tensor:
    """Mean log-loss and the penalty of the paper: off-diagonal entries and intercepts."""
    W, b = layer.steps.affine.matrix, layer.steps.affine.intercepts
    k = len(b)
    off_diagonal = (W**2).sum() - (W.diagonal() ** 2).sum()
    penalty = strengths.lam * off_diagonal / (k * (k - 1)) + strengths.mu * (b**2).sum() / k
    loss: Tensor = cross_entropy(layer.logits(logits), y) + penalty
    return loss


def fit_layer(model: nn.Sequential, X: Tensor, y: Tensor, strengths: Strengths) -> float:
    """Fit the last layer where it is; gives the objective that it reaches."""
    network, layer = model
    with torch.no_grad():
        # The network is frozen: its logits are computed once.
        logits = network(X)
    optimiser: Any = torch.optim.LBFGS(
        layer.parameters(),
        max_iter=_STEPS,
        history_size=50,
        tolerance_grad=1e-9,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> float:
        optimiser.zero_grad()
        value = objective(layer, logits, y, strengths)
        torch.autograd.backward(value)
        return float(value.detach())

    optimiser.step(closure)
    return float(objective(layer, logits, y, strengths).detach())


def main() -> None:
    """Train, calibrate and compare."""
    parts = [_tensors(part) for part in _digits()]
    (X, y), (X_fit, y_fit), (X_test, y_test) = parts
    network = train_network(X, y)
    with torch.no_grad():
        logits = network(X_fit)
    strengths = Strengths.usual(len(y_fit), 10)
    solver = DirichletCalibrator(lam=strengths.lam, mu=strengths.mu, input_scale="logit")
    solver.fit(logits.numpy(), y_fit.numpy())
    best = float(objective(to_torch(solver), logits, y_fit, strengths).detach())
    model = calibrated_network(network, logits, y_fit)
    reached = fit_layer(model, X_fit, y_fit, strengths)
    print(f"objective of our solver {best:.9f}, of the layer in the network {reached:.9f}")
    with torch.no_grad():
        before, after = torch.softmax(network(X_test), dim=1).numpy(), model(X_test).numpy()
    for name, proba in (("network", before), ("with the layer", after)):
        loss = metrics.log_loss(y_test.numpy(), proba)
        ece = metrics.confidence_ece(y_test.numpy(), proba)
        print(f"{name:15} log-loss {loss:.4f}, confidence-ECE {ece:.4f}")
    print(from_torch(model[1]).explain(network(X_test).detach().numpy()))


def _digits() -> list[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
    """Pictures to train on, to calibrate on and to test on."""
    X, y = load_digits(return_X_y=True)
    # With noise on the pictures, so that the network has something to be wrong about.
    X = X / 16.0 + np.random.default_rng(0).normal(0.0, _NOISE, X.shape)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
    X_fit, X_test, y_fit, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    return [(X_train, y_train), (X_fit, y_fit), (X_test, y_test)]


def _tensors(
    part: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]],
) -> tuple[Tensor, Tensor]:
    X, y = part
    return torch.from_numpy(X), torch.from_numpy(y)


if __name__ == "__main__":
    main()
