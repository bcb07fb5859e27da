"""Several temperature maps, each with a clip and a slope of its own, looked at in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from dircal._core.data.chunks import Chunk, clipped, log_of_clip
from dircal._core.data.losses import label_losses
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Evaluation, evaluation_with_hessian, forward
from dircal._core.model.structure import Scalar
from dircal._core.stats.paired import PairedDifference, paired_from_moments
from dircal._typing import AnyFloatArray, FloatArray

__all__ = ["GridEvaluation", "TemperatureMap"]


@dataclass(frozen=True)
class TemperatureMap:
    """A floor of probabilities, zero for none, and a slope."""

    clip: float
    slope: float


@dataclass(frozen=True)
class GridEvaluation:
    """Mean loss of some temperature maps and its derivatives in the slope, and paired differences.

    ``products`` (c, c) are means over rows of products of two differences, those of the losses of
    two maps from that of the first map.
    """

    maps: Sequence[TemperatureMap]
    evaluations: Sequence[Evaluation]
    products: FloatArray

    @classmethod
    def of(cls, rows: Rows, maps: Sequence[TemperatureMap]) -> "GridEvaluation":
        """In one pass over rows that have no clip yet."""
        found = rows.fold(partial(_evaluate, tuple(maps)))
        return cls(maps, found.evaluations, found.products)

    def at(self, clip: float) -> tuple[float, Evaluation] | None:
        """Slope and evaluation of the map with this clip, if there is one."""
        for each, evaluation in zip(self.maps, self.evaluations, strict=True):
            if each.clip == clip:
                return each.slope, evaluation
        return None

    def paired(
        self, one: TemperatureMap, other: TemperatureMap, n: float
    ) -> PairedDifference | None:
        """The difference of the losses of two maps over ``n`` rows; None where one is not here."""
        if one not in self.maps or other not in self.maps:
            return None
        i, j = self.maps.index(one), self.maps.index(other)
        products = self.products
        mean_square = float(products[i, i] - 2.0 * products[i, j] + products[j, j])
        mean = self.evaluations[i].loss - self.evaluations[j].loss
        return paired_from_moments(mean, max(mean_square, mean**2), n)


@dataclass
class _Sums:
    """Sums of the evaluations of several maps, one by one, and of products of their losses."""

    evaluations: list[Evaluation]
    products: FloatArray

    def __iadd__(self, other: Self) -> Self:
        for mine, more in zip(self.evaluations, other.evaluations, strict=True):
            mine += more
        self.products += other.products
        return self


def _evaluate(maps: Sequence[TemperatureMap], chunk: Chunk) -> _Sums:
    structure, lowest = Scalar(len(chunk.scores)), float(chunk.scores.min())
    evaluations: list[Evaluation] = []
    losses: list[AnyFloatArray] = []
    seen: dict[tuple[float, float], int] = {}
    for each in maps:
        # Clips below all scores of a chunk do the same to it.
        key = max(log_of_clip(each.clip), lowest), each.slope
        if key in seen:
            at = evaluations[seen[key]]
            evaluations.append(replace(at, gradient=at.gradient.copy(), hessian=_copy(at)))
            losses.append(losses[seen[key]])
            continue
        seen[key] = len(evaluations)
        raised = replace(chunk, scores=clipped(chunk.scores, log_of_clip(each.clip)), memo=None)
        proba, of_rows = forward(structure, np.array([each.slope]), raised)
        losses.append(label_losses(raised, proba, of_rows))
        evaluations.append(evaluation_with_hessian(structure, raised, proba, of_rows))
    differences = np.array(losses, dtype=np.float64)
    differences -= differences[0].copy()
    return _Sums(evaluations, (differences * chunk.label_weight) @ differences.T)


def _copy(at: Evaluation) -> FloatArray | None:
    return None if at.hessian is None else at.hessian.copy()
