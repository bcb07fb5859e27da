"""What a linear map does to rows, beyond what one temperature would do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from dircal._core.data.chunks import Chunk, floored
from dircal._core.data.losses import log_losses
from dircal._core.data.simplex import TINY, softmax
from dircal._core.model.structure import Structure
from dircal._typing import FloatArray, IntArray

__all__ = ["Effects", "measure_effects", "shifts_of_pairs"]

# Iterations of the reweighting that keeps a few odd pairs from colouring the classes, and the
# shift below which a pair is not odd.
_REWEIGHTINGS = 8
_NOT_ODD = 0.05
# Log-odds that change by more count as this much: between 1e-9 and 1e-15 there is no difference.
_LARGEST_SHIFT = 4.0


@dataclass(frozen=True)
class Effects:
    """Sums over rows, by class (k,) and by pair (p,).

    A pair is a class that leads and the class that comes second, by the scores before the map;
    only pairs that occur are listed. Weights are shares that sum to one over the rows.

    ``before``, ``tempered``, ``after`` : mean probability of each class without a map, with the
    temperature map, with this map;
    ``leader``, ``second`` : class indices of each pair; ``share`` : weight of its rows;
    ``contested`` : that weight again, counting a row by 4 r (1 - r), where r is the chance of the
    second against the leader after the temperature map: a row that is decided hardly counts;
    ``gap`` : mean lead of its scores, so counted;
    ``shift`` : mean change of the log-odds towards the second, beyond that of the temperature map,
    so counted;
    ``flipped`` : weight of its rows in which the second becomes the most probable class;
    ``decisions_changed`` : weight of all rows whose most probable class changes;
    ``losses`` : mean log-loss without a map, with the temperature map, with this map.
    """

    before: FloatArray
    tempered: FloatArray
    after: FloatArray
    leader: IntArray
    second: IntArray
    share: FloatArray
    contested: FloatArray
    gap: FloatArray
    shift: FloatArray
    flipped: FloatArray
    decisions_changed: float
    losses: tuple[float, float, float]


def measure_effects(
    chunks: Iterable[Chunk],
    log_floor: float,
    structure: Structure,
    params: FloatArray,
    slope: float,
    n_classes: int,
    soften: Callable[[FloatArray], FloatArray] | None = None,
) -> Effects:
    """Run over rows whose scores have no floor yet; ``slope`` is that of the temperature map.

    ``soften`` makes of scores, in place, what the map reads; without it, it reads the scores.
    """
    means = np.zeros((3, n_classes))
    share, contested, lead, moved, flipped = np.zeros((5, n_classes, n_classes))
    losses = np.zeros(3)
    changed = 0.0
    for chunk in chunks:
        scores, weight = floored(chunk.scores, log_floor), chunk.weight
        reads = scores if soften is None else soften(scores.copy())
        logits = structure.logits(params.astype(scores.dtype, copy=False), reads)
        row = np.arange(len(weight))
        leader, second = _top_two(chunk.scores)
        gap = scores[leader, row] - scores[second, row]
        shift = slope * gap - (logits[leader, row] - logits[second, row])
        best = np.ascontiguousarray(logits.T).argmax(axis=1)
        probas = (softmax(chunk.scores.copy()), softmax(slope * scores), softmax(logits))
        shift = shift.clip(-_LARGEST_SHIFT, _LARGEST_SHIFT)
        chance = expit(-slope * gap)
        counted = weight * 4.0 * chance * (1.0 - chance)
        means += [proba @ weight for proba in probas]
        np.add.at(share, (leader, second), weight)
        np.add.at(contested, (leader, second), counted)
        np.add.at(lead, (leader, second), counted * gap)
        np.add.at(moved, (leader, second), counted * shift)
        np.add.at(flipped, (leader, second), weight * (best == second))
        changed += float(weight @ (best != leader))
        losses += [log_losses(proba, chunk.labels) @ weight for proba in probas]
    i, j = np.nonzero(share)
    counted = np.maximum(contested[i, j], TINY)
    uncalibrated, temperature, this = losses.tolist()
    before, tempered, after = means
    return Effects(
        before,
        tempered,
        after,
        i,
        j,
        share[i, j],
        counted,
        lead[i, j] / counted,
        moved[i, j] / counted,
        flipped[i, j],
        changed,
        (uncalibrated, temperature, this),
    )


def _top_two(scores: FloatArray) -> tuple[IntArray, IntArray]:
    """The largest and the second largest class of each column."""
    # With a row for each sample the search runs along memory.
    rest = np.array(scores.T, order="C")
    leader = rest.argmax(axis=1)
    rest[np.arange(len(rest)), leader] = -np.inf
    return leader, rest.argmax(axis=1)


def shifts_of_pairs(effects: Effects) -> FloatArray:
    """What is left of the shift of each pair (p,) when common causes are taken out.

    Fits ``shift = gain of the second - gain of the leader + slope * gap + rest`` and returns the
    rests. Without the gains, a class that is over-estimated would appear as a confusion with every
    other class; without the slope, a temperature that had to make up for such a class would
    appear everywhere. Least squares with weights that fall with the rest keeps the sum of absolute
    rests small, so that a pair with a shift of its own leaves the common causes alone.
    """
    k = len(effects.before)
    i, j, rest = effects.leader, effects.second, effects.shift
    for _ in range(_REWEIGHTINGS):
        weight = effects.contested / np.maximum(np.abs(rest), _NOT_ODD)
        # Normal equations: a graph of the pairs, bordered by the slope. Only differences of gains
        # matter: a small ridge picks the smallest, also for classes that are in no pair.
        normal = np.eye(k + 1) * (1e-9 * weight.max())
        right = np.zeros(k + 1)
        for one, other, sign in ((i, j, -1.0), (j, i, 1.0)):
            np.add.at(normal, (one, one), weight)
            np.add.at(normal, (one, other), -weight)
            np.add.at(normal[:, k], one, sign * weight * effects.gap)
            np.add.at(right, one, sign * weight * effects.shift)
        normal[k, :k] = normal[:k, k]
        normal[k, k] += weight @ effects.gap**2
        right[k] = weight @ (effects.gap * effects.shift)
        *gains, slope = np.linalg.solve(normal, right)
        gain = np.array(gains)
        rest = effects.shift - (gain[j] - gain[i] + slope * effects.gap)
    return rest
