"""Rows about temperature scaling."""

import numpy as np
from _passes import count_passes
from _problems import Problem, all_networks, mean_log_loss, problems
from _timing import Row, race

# The class behind CalibratedClassifierCV(method="temperature"): called directly, its time holds no
# wrapper, no prediction and no cloning.
from sklearn.calibration import _TemperatureScaling

from dircal import TemperatureScaling
from dircal._core.clip.by_likelihood import learn_clip
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal.maps import CalibrationMap, LogProbability, Normalise

__all__ = ["default_against_sklearn", "logits_against_sklearn", "passes_by_classes", "worst_passes"]

_LIMIT = 15
_FIXED_FLOOR = 1e-15


def logits_against_sklearn() -> list[Row]:
    """Both fit one temperature to the same logits."""
    return [_race_on_logits(problems(k)[0]) for k in (10, 100)]


def default_against_sklearn() -> list[Row]:
    """Both fit the same probabilities; ours learns the clip as well."""
    return [_race_on_probabilities(problems(k)[-1]) for k in (10, 100)]


def passes_by_classes() -> list[Row]:
    """Passes over the data with the clip fixed, then with the clip learned."""
    rows = []
    for k in (2, 10, 100, 1000):
        problem = problems(k)[0]
        fixed = _passes_with_fixed_clip(problem, _FIXED_FLOOR)
        rows.append(_passes_row(f"temperature, k={k}", problem.name, fixed))
        rows.append(_learned_row(problem, fixed))
    return rows


def worst_passes() -> list[Row]:
    """The largest number of passes over every network of the data folder."""
    counts = {problem.name: _passes_with_fixed_clip(problem, TINY) for problem in all_networks()}
    if not counts:
        return []
    worst = max(counts, key=lambda name: counts[name])
    return [_passes_row(f"temperature, worst of {len(counts)} networks", worst, counts[worst])]


def _race_on_logits(problem: Problem) -> Row:
    assert problem.logits is not None
    X, y, classes = problem.logits, problem.labels, np.arange(problem.n_classes)
    ours = TemperatureScaling(input_scale="logit", classes=classes)
    theirs = _TemperatureScaling()
    times = race(lambda: ours.fit(X, y), lambda: theirs.fit(X, y))
    excess = mean_log_loss(X / ours.temperature_, y) - mean_log_loss(X * theirs.beta_, y)
    return Row(
        f"temperature on logits, k={problem.n_classes}",
        problem.name,
        "s",
        times.ours,
        "scikit-learn temperature",
        times.theirs,
        1.0,
        f"loss minus scikit-learn's: {excess:.0e}",
    )


def _race_on_probabilities(problem: Problem) -> Row:
    X, y, classes = problem.proba, problem.labels, np.arange(problem.n_classes)
    ours = TemperatureScaling(classes=classes)
    times = race(lambda: ours.fit(X, y), lambda: _TemperatureScaling().fit(X, y))
    return Row(
        f"temperature, default (clip learned), k={problem.n_classes}",
        problem.name,
        "s",
        times.ours,
        "scikit-learn temperature",
        times.theirs,
        None,
        f"{count_passes(lambda: ours.fit(X, y)).evaluations} passes",
    )


def _passes_with_fixed_clip(problem: Problem, clip: float) -> int:
    classes = np.arange(problem.n_classes)
    if problem.logits is not None:
        on_logits = TemperatureScaling(input_scale="logit", classes=classes)
        return count_passes(lambda: on_logits.fit(problem.logits, problem.labels)).evaluations
    on_proba = TemperatureScaling(clip=clip, classes=classes)
    return count_passes(lambda: on_proba.fit(problem.proba, problem.labels)).evaluations


def _passes_row(name: str, data: str, count: int) -> Row:
    return Row(f"passes: {name}", data, "passes", count, "limit", _LIMIT, 1.0)


def _learned_row(problem: Problem, fixed: int) -> Row:
    learned = TemperatureScaling(classes=np.arange(problem.n_classes))
    total = count_passes(lambda: learned.fit(problem.proba, problem.labels)).evaluations
    read = CalibrationMap(problem.n_classes, (Normalise(), LogProbability())).read
    source = ArraySource(problem.proba, problem.labels, None, read)
    spent = learn_clip(Rows(source), max_iter=100).n_passes
    return Row(
        f"passes: temperature, clip learned, k={problem.n_classes}",
        problem.name,
        "passes",
        total,
        "the same, clip fixed",
        fixed,
        None,
        f"{spent} to learn the clip, {learned.clip_:.0e}",
    )
