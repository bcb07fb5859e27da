"""Maps made of maps: one class against the rest, and means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dircal._core.data.simplex import normalise, rest_of_logits, rest_of_proba, sums_of_columns
from dircal._typing import FloatArray, InputScale
from dircal.maps._columns import only
from dircal.maps._map import CalibrationMap
from dircal.maps._step import AbstractStep

__all__ = ["MeanOfMaps", "OneVsRest", "mean_of_maps"]


@dataclass(frozen=True, eq=False, repr=False)
class OneVsRest(AbstractStep):
    """Each class by a map of its own against all others; the results are divided by their sum.

    Map j reads two columns, the rest and class j itself: for probabilities the rest is the sum of
    the others, for logits the logarithm of the sum of their exponentials. Where all maps give zero,
    every class gets the same.
    """

    gives_proba: ClassVar[bool] = True

    members: tuple[CalibrationMap, ...]
    scale: InputScale

    long_chunks: ClassVar[bool] = True

    @property
    def input_scale(self) -> InputScale:
        """That of the scores whose rest is taken."""
        return self.scale

    def apply(self, block: FloatArray) -> FloatArray:
        """Probabilities that sum to one."""
        rest = self.rest_of(block)
        for j, member in enumerate(self.members):
            block[j] = member.on_block(np.stack([rest[j], block[j]]))[1]
        block[:, sums_of_columns(block) == 0.0] = 1.0
        return normalise(block)

    def rest_of(self, block: FloatArray) -> FloatArray:
        """For each class, what all others have together."""
        return rest_of_logits(block) if self.scale == "logit" else rest_of_proba(block)

    def n_out(self, n_in: int) -> int:
        """As many as there are maps."""
        if self.scale not in ("probability", "logit"):
            raise ValueError(f"`scale` must be 'probability' or 'logit'; got {self.scale!r}")
        for member in self.members:
            only(2, member.n_columns)
            only(2, member.n_classes)
        return only(len(self.members), n_in)


@dataclass(frozen=True, eq=False, repr=False)
class MeanOfMaps(AbstractStep):
    """The mean of the probabilities of several maps of the same block."""

    gives_proba: ClassVar[bool] = True

    members: tuple[CalibrationMap, ...]

    @property
    def input_scale(self) -> InputScale:
        """That of the members."""
        return self.members[0].input_scale

    def apply(self, block: FloatArray) -> FloatArray:
        """Their sum, divided by what it sums to: rows sum to one as exactly as they can."""
        total = self.members[0].on_block(block.copy())
        for member in self.members[1:]:
            total += member.on_block(block.copy())
        return normalise(total)

    def n_out(self, n_in: int) -> int:
        """As many as each of them gives."""
        if not self.members:
            raise ValueError("`members` must be at least one map")
        n_classes = self.members[0].n_classes
        for member in self.members:
            only(n_in, member.n_columns)
            only(n_classes, member.n_classes)
        return n_classes


def mean_of_maps(maps: Sequence[CalibrationMap]) -> CalibrationMap:
    """The mean of maps of the same rows; what all begin with is done once."""
    first = maps[0]
    if len(maps) == 1:
        return first
    n_common = 0
    for steps in zip(*(each.steps for each in maps), strict=False):
        if any(step != steps[0] for step in steps[1:]):
            break
        n_common += 1
    common = CalibrationMap(first.n_columns, first.steps[:n_common])
    members = (CalibrationMap(common.n_classes, each.steps[n_common:]) for each in maps)
    return common.then(MeanOfMaps(tuple(members)))
