"""One map for each group: random effects around a common map, or a map of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    """Of groups 0, 1, … in ``codes`` (n,), each of which has rows."""
    order = np.argsort(codes, kind="stable")
    rows = data.take(order)
    starts = np.searchsorted(codes[order], np.arange(int(codes.max()) + 1)).tolist()
    temperature = TemperatureScaling(input_scale=input_scale).method().fit(data)
    # A common map that bends or mixes may have lost what some groups would need.
    bases = [common, temperature]
    found = [_effects(base, rows, starts) for base in bases]
    ends = [*starts[1:], len(codes)]
    maps = []
    for i, (first, end) in enumerate(zip(starts, ends, strict=True)):
        candidates = [
            (_moved(base.map, effects.weights[i]), float(effects.log_evidence[i]))
            for base, effects in zip(bases, found, strict=True)
        ]
        own = rows.take(np.arange(first, end))
        maps.append(_average([*candidates, *_fresh(own, input_scale)]))
    best = found[int(np.argmax([effects.log_evidence.sum() for effects in found]))]
    return GroupMaps(
        maps,
        dict(zip(KINDS, best.precisions.tolist(), strict=True)),
        dict(zip(KINDS, best.effective_dof.tolist(), strict=True)),
    )


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


def _fresh(own: ArrayRows, input_scale: InputScale) -> list[tuple[CalibrationMap, float]]:
    """A map of the rows of a group alone and its log-evidence, where there are enough."""
    n_rows = len(own.labels) if own.sample_weight is None else float(own.sample_weight.sum())
    if n_rows < MONITOR_LIMITS.get().min_group_rows:
        return []
    fresh = AutoCalibrator(input_scale=input_scale).method().fit(own)
    table = fresh.details.table
    log_evidence = joint_log_evidence(table["calibrator"], table["log_evidence"])
    return [(fresh.map, float(np.logaddexp.reduce(log_evidence)))]


def _average(candidates: list[tuple[CalibrationMap, float]]) -> CalibrationMap:
    """The mean of maps by their evidence, without those that are out of the question."""
    log_evidence = np.array([one for _, one in candidates])
    weights = np.exp(log_evidence - log_evidence.max())
    kept = [
        (each, float(weight))
        for (each, _), weight in zip(candidates, weights, strict=True)
        if weight >= 1.0 / BAYES_LIMITS.get().occam_window
    ]
    return weighted_mean(kept)
