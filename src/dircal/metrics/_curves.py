"""Curves: what is predicted with a probability, and whether it happens.

A calibration error compares the two along a curve. There is one curve of the confidence, one of
each class, and one of all probabilities together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dircal._typing import FloatArray, IntArray
from dircal.metrics._blocks import Block
from dircal.tables import check_option

__all__ = [
    "ClassCurves",
    "ConfidenceCurve",
    "Confident",
    "CurvePoints",
    "Curves",
    "OneClassCurve",
    "Over",
    "PooledCurve",
    "check_over",
]

Over: TypeAlias = Literal["confidence", "classes"]


@dataclass(frozen=True, eq=False)
class CurvePoints:
    """Some rows of some curves: what was predicted (c, m), where it happened, weights (m,).

    ``shares`` are how probably it happened there, where labels are soft; None stands for one.
    """

    values: FloatArray
    outcomes: tuple[IntArray, IntArray]
    weight: FloatArray | None
    shares: FloatArray | None = None

    @property
    def residuals(self) -> FloatArray:
        """One where it happened, less what was predicted (c, m)."""
        residuals: FloatArray = -self.values
        residuals[self.outcomes] += 1.0 if self.shares is None else self.shares
        return residuals


_AnyBlock = TypeVar("_AnyBlock", contravariant=True)


class Curves(Protocol[_AnyBlock]):
    """Which curves: a value that says how rows become their points."""

    def __hash__(self) -> int:
        """Two that are equal mean the same curves."""

    def points(self, block: _AnyBlock) -> CurvePoints:
        """The points of some rows."""


class Confident(Protocol):
    """Rows whose confidence is known, and perhaps nothing else."""

    @property
    def confidence(self) -> FloatArray:
        """Largest probability (m,)."""

    @property
    def hits(self) -> npt.NDArray[Any]:
        """Whether it was that of the label (m,), or how probably it was."""

    @property
    def weight(self) -> FloatArray | None:
        """Weights (m,)."""


@dataclass(frozen=True)
class ConfidenceCurve:
    """The largest probability, which happens where its class is the label."""

    def points(self, block: Confident) -> CurvePoints:
        """One curve."""
        happens = np.flatnonzero(block.hits)
        shares = None if block.hits.dtype == bool else block.hits[happens]
        return _one_curve(block.confidence, happens, block.weight, shares)


@dataclass(frozen=True)
class ClassCurves:
    """The probability of each class, which happens where it is the label.

    ``chosen`` are the positions of some classes among the sorted ones; None stands for all.
    """

    chosen: tuple[int, ...] | None = None

    def points(self, block: Block) -> CurvePoints:
        """As many curves as classes."""
        if block.targets is not None:
            chosen = slice(None) if self.chosen is None else list(self.chosen)
            targets = block.targets[chosen]
            curve, row = np.nonzero(targets)
            shares = targets[curve, row]
            return CurvePoints(block.proba[chosen], (curve, row), block.weight, shares)
        if self.chosen is None:
            every = np.arange(len(block.labels))
            return CurvePoints(block.proba, (block.labels, every), block.weight)
        curve, row = np.nonzero(np.array(self.chosen)[:, None] == block.labels)
        return CurvePoints(block.proba[list(self.chosen)], (curve, row), block.weight)


@dataclass(frozen=True)
class OneClassCurve:
    """The probability of the class at a ``position`` among the sorted ones."""

    position: int

    def points(self, block: Block) -> CurvePoints:
        """One curve."""
        values, targets = block.proba[self.position], block.targets
        if targets is None:
            happens = np.flatnonzero(block.labels == self.position)
            return _one_curve(values, happens, block.weight)
        happens = np.flatnonzero(targets[self.position])
        return _one_curve(values, happens, block.weight, targets[self.position, happens])


@dataclass(frozen=True)
class PooledCurve:
    """The probabilities of all classes together."""

    def points(self, block: Block) -> CurvePoints:
        """One curve, with k points for each row."""
        k, m = block.proba.shape
        weight = None if block.weight is None else np.tile(block.weight, k)
        if block.targets is not None:
            shares = block.targets.ravel()
            happens = np.flatnonzero(shares)
            return _one_curve(block.proba.ravel(), happens, weight, shares[happens])
        happens = block.labels.astype(np.intp) * m + np.arange(m)
        return _one_curve(block.proba.ravel(), happens, weight)


def check_over(over: Over, label: object, position_of: Callable[[object], int]) -> Curves[Block]:
    """The curve of the confidence, those of all classes, or that of one class."""
    check_option("over", over, ("confidence", "classes"))
    if label is None:
        return ConfidenceCurve() if over == "confidence" else ClassCurves()
    if over == "confidence":
        raise ValueError(
            f"`label` is {label!r}, but `over` is 'confidence', which looks at whatever class is "
            "most probable. Pass `over='classes'` to look at one class."
        )
    return OneClassCurve(position_of(label))


def _one_curve(
    values: FloatArray,
    happens: IntArray,
    weight: FloatArray | None,
    shares: FloatArray | None = None,
) -> CurvePoints:
    return CurvePoints(values[None], (np.zeros_like(happens), happens), weight, shares)
