"""What a linear map does to rows, beyond what one temperature would do."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from dircal._core.data.chunks import AbstractSums, Chunk, clipped
from dircal._core.data.losses import log_losses
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY, softmax
from dircal._typing import FloatArray, IntArray
from dircal.explain._contests import ContestEffect, contests_of, sums_by_contest
from dircal.explain._limits import EXPLAIN_LIMITS

__all__ = ["Effects", "measure_effects", "shifts_of_pairs"]


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
    ``losses`` : mean log-loss without a map, with the temperature map, with this map;
    ``contests`` : confidences by how many classes compete, None in files from before these.
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
    contests: tuple[ContestEffect, ...] | None = None


def measure_effects(
    rows: Rows, slope: float, logits_of: Callable[[FloatArray], FloatArray]
) -> Effects:
    """What a map does to rows.

    Parameters
    ----------
    rows : Rows
        With the clip of the map; which class leads is told by the scores without it.
    slope : float
        That of the temperature map.
    logits_of : callable
        Makes logits (k, m) of clipped scores (k, m), which it may use up.
    """
    sums = rows.source.fold(partial(_sums_of_chunk, rows.log_clip, slope, logits_of, rows.dtype))
    i, j = np.nonzero(sums.share)
    contested = np.maximum(sums.contested[i, j], TINY)
    before, tempered, after = sums.means
    uncalibrated, temperature, this = sums.losses.tolist()
    return Effects(
        before,
        tempered,
        after,
        i,
        j,
        sums.share[i, j],
        contested,
        sums.lead[i, j] / contested,
        sums.moved[i, j] / contested,
        sums.flipped[i, j],
        sums.changed,
        (uncalibrated, temperature, this),
        contests_of(sums.contests),
    )


@dataclass
class _EffectSums(AbstractSums):
    """Sums over rows: by class (3, k), by pair (k, k), of losses (3,), by contest (3, 5)."""

    means: FloatArray
    share: FloatArray
    contested: FloatArray
    lead: FloatArray
    moved: FloatArray
    flipped: FloatArray
    changed: float
    losses: FloatArray
    contests: FloatArray


def _sums_of_chunk(
    log_clip: float,
    slope: float,
    logits_of: Callable[[FloatArray], FloatArray],
    dtype: type[np.floating[Any]],
    chunk: Chunk,
) -> _EffectSums:
    # Only what is clipped has to be in range: minus infinity is a probability of zero as well.
    limits = EXPLAIN_LIMITS.get()
    with np.errstate(over="ignore"):
        raw, weight = chunk.scores.astype(dtype, copy=False), chunk.weight
    scores = clipped(raw, log_clip)
    logits = logits_of(scores.copy())
    k, row = len(scores), np.arange(len(weight))
    leader, second = _top_two(raw)
    gap = scores[leader, row] - scores[second, row]
    shift = slope * gap - (logits[leader, row] - logits[second, row])
    best = np.ascontiguousarray(logits.T).argmax(axis=1)
    probas = (softmax(raw.copy()), softmax(slope * scores), softmax(logits))
    chance = expit(-slope * gap)
    counted = weight * 4.0 * chance * (1.0 - chance)
    pair = leader * k + second
    hits = leader == chunk.labels if chunk.targets is None else chunk.targets[leader, row]

    def by_pair(values: FloatArray) -> FloatArray:
        summed: FloatArray = np.bincount(pair, values, k * k).reshape(k, k).astype(np.float64)
        return summed

    return _EffectSums(
        np.array([proba @ weight for proba in probas]),
        by_pair(weight),
        by_pair(counted),
        by_pair(counted * gap),
        by_pair(counted * shift.clip(-limits.max_shift, limits.max_shift)),
        by_pair(weight * (best == second)),
        float(weight @ (best != leader)),
        np.array([log_losses(proba, chunk.labels, chunk.targets) @ weight for proba in probas]),
        sums_by_contest(probas, leader, second, hits, weight),
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
    limits = EXPLAIN_LIMITS.get()
    k = len(effects.before)
    i, j, rest = effects.leader, effects.second, effects.shift
    for _ in range(limits.n_reweightings):
        weight = effects.contested / np.maximum(np.abs(rest), limits.max_regular_shift)
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
