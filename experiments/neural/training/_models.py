"""Small networks that a processor can train: those of the paper's kind, not its size."""

import torch
from torch import Tensor, nn

__all__ = ["convnet", "lenet5", "mlp", "resnet8"]


def lenet5(*, normalised: bool) -> nn.Module:
    """LeNet-5 for colour pictures; the paper's replications have batch normalisation in it."""

    def convolution(inside: int, outside: int) -> list[nn.Module]:
        norm: list[nn.Module] = [nn.BatchNorm2d(outside)] if normalised else []
        return [nn.Conv2d(inside, outside, 5), *norm, nn.ReLU(), nn.MaxPool2d(2)]

    def dense(inside: int, outside: int) -> list[nn.Module]:
        norm: list[nn.Module] = [nn.BatchNorm1d(outside)] if normalised else []
        return [nn.Linear(inside, outside), *norm, nn.ReLU()]

    layers = [*convolution(3, 6), *convolution(6, 16), nn.Flatten(), *dense(400, 120)]
    return nn.Sequential(*layers, *dense(120, 84), nn.Linear(84, 10))


def mlp() -> nn.Module:
    """Two hidden layers of 256, as the network on MNIST that the paper took from elsewhere."""
    hidden = [nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2)]
    return nn.Sequential(
        nn.Flatten(), *hidden, nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10)
    )


def convnet() -> nn.Module:
    """Two convolutions and two dense layers for pictures of one channel."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


class _Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outside),
        )
        self.around: nn.Module = nn.Identity()
        if stride != 1:
            shortcut = nn.Conv2d(inside, outside, 1, stride, bias=False)
            self.around = nn.Sequential(shortcut, nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        """Body and way around, added."""
        return torch.relu(self.body(x) + self.around(x))


def resnet8() -> nn.Module:
    """The smallest residual network of the CIFAR family: one block of 16, 32 and 64 channels."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        _Block(16, 16, 1),
        _Block(16, 32, 2),
        _Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
