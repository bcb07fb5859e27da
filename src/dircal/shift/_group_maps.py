"""Maps of groups: a common map, random effects around it, or a separate map."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from dircal._core.bayes.limits import BAYES_LIMITS
from dircal._core.bayes.models import joint_log_evidence
from dircal._core.data.simplex import TINY
from dircal._core.shift.random_effects import GroupEffects, fit_random_effects
from dircal._typing import FloatArray, InputScale, IntArray
from dircal.calibrators import Fit, TemperatureScaling
from dircal.maps import Affine, CalibrationMap, LogProbability, Softmax
from dircal.selection import AutoCalibrator
from dircal.shift._base import weighted_mean
from dircal.shift._limits import MONITOR_LIMITS
from dircal.tables import ArrayRows

__all__ = ["GroupMaps", "fit_group_maps"]

# A map of a group, and its log-evidence.
_Candidate: TypeAlias = tuple[CalibrationMap, float]
KINDS = ("slopes", "matrices", "intercepts")


@dataclass(frozen=True)
class GroupMaps:
    """A map for each group, and what all groups have learned together."""

    maps: list[CalibrationMap]
    precisions: dict[str, float]
    effective_parameters: dict[str, float]


def fit_group_maps(
    common: Fit, data: ArrayRows, codes: IntArray, input_scale: InputScale
) -> GroupMaps:
    """Fit the maps of groups 0, 1, … in ``codes`` (n,), each of which has rows."""
    order = np.argsort(codes, kind="stable")
    rows = data.take(order)
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 1)).tolist()
    temperature = TemperatureScaling(input_scale=input_scale).method().fit(data)
    # A common map that bends or mixes may have lost what some groups would need.
    bases = [common, temperature]
    found = [_effects(base, rows, starts) for base in bases]
    ends = [*starts[1:], len(codes)]
    candidates = [
        [
            *(
                (_moved(base.map, effects.weights[i]), float(effects.log_evidence[i]))
                for base, effects in zip(bases, found, strict=True)
            ),
            *_fresh(rows.take(np.arange(first, end)), input_scale),
        ]
        for i, (first, end) in enumerate(zip(starts, ends, strict=True))
    ]
    best = found[int(np.argmax([effects.log_evidence.sum() for effects in found]))]
    pooled = _pooled_weight(found[0].log_likelihood, found, candidates)
    maps = [
        _average([(common.map, pooled), *((one, (1.0 - pooled) * w) for one, w in _shares(own))])
        for own in candidates
    ]
    return GroupMaps(maps, _by_kind(best.precisions), _by_kind((1.0 - pooled) * best.effective_dof))


def _by_kind(values: FloatArray) -> dict[str, float]:
    return dict(zip(KINDS, values.tolist(), strict=True))


def _pooled_weight(
    log_likelihood: float, found: Sequence[GroupEffects], candidates: list[list[_Candidate]]
) -> float:
    """Posterior probability that no group differs, with equal prior odds.

    If groups differ, either all have effects around one of the bases, or each has its candidates
    with equal prior probabilities. A penalty for the learned precisions (BIC) would pool groups
    that do differ a little: 40 groups of 20 rows lost 19 % more than without pooling.
    """
    log_evidence = [np.array([one for _, one in own]) for own in candidates]
    apart = [float(effects.log_evidence.sum()) for effects in found]
    apart.append(float(sum(np.logaddexp.reduce(own) - np.log(len(own)) for own in log_evidence)))
    differ = np.logaddexp.reduce(apart) - np.log(len(apart))
    return float(expit(log_likelihood - differ))


def _effects(base: Fit, rows: ArrayRows, starts: Sequence[int]) -> GroupEffects:
    scores = np.log(np.maximum(base.predict(rows), TINY)).T
    scores = np.ascontiguousarray(scores - scores.mean(axis=0))
    weight = np.ones(len(rows.labels)) if rows.sample_weight is None else rows.sample_weight
    targets = None if rows.targets is None else rows.targets.T
    return fit_random_effects(scores, rows.labels.astype(np.intp), weight, starts, targets)


def _moved(base: CalibrationMap, weights: FloatArray) -> CalibrationMap:
    """The base, and after it [W | b] of its log-probabilities less their mean."""
    matrix = weights[:, :-1] - weights[:, :-1].mean(axis=1, keepdims=True)
    return base.then(LogProbability(), Affine(matrix, weights[:, -1]), Softmax())


def _fresh(own: ArrayRows, input_scale: InputScale) -> list[_Candidate]:
    """A map of the rows of a group alone and its log-evidence, where there are enough."""
    n_rows = len(own.labels) if own.sample_weight is None else float(own.sample_weight.sum())
    if n_rows < MONITOR_LIMITS.get().min_group_rows:
        return []
    fresh = AutoCalibrator(input_scale=input_scale).method().fit(own)
    table = fresh.details.table
    log_evidence = joint_log_evidence(table["calibrator"], table["log_evidence"])
    return [(fresh.map, float(np.logaddexp.reduce(log_evidence)))]


def _shares(candidates: list[_Candidate]) -> list[tuple[CalibrationMap, float]]:
    """Maps with their posterior probabilities."""
    log_evidence = np.array([one for _, one in candidates])
    weights = np.exp(log_evidence - np.logaddexp.reduce(log_evidence))
    return [(each, float(weight)) for (each, _), weight in zip(candidates, weights, strict=True)]


def _average(shares: list[tuple[CalibrationMap, float]]) -> CalibrationMap:
    """The mean of maps by their weights, without those that are out of the question."""
    least = max(weight for _, weight in shares) / BAYES_LIMITS.get().occam_window
    return weighted_mean([one for one in shares if one[1] >= least])
