"""Rows about starts from a subsample: passes over all rows and time, warm against cold."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from _passes import count_folds
from _problems import Problem, generate, usual_strengths
from _timing import Row

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    DirichletCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal._core.data.chunks import AbstractChunkSource

__all__ = ["all_calibrators", "many_rows", "solver_passes"]

_ROWS = 200_000
_MANY_ROWS = 4_000_000
# Classes, rows, and passes of the solver that are few enough.
_SOLVERS = ((10, _ROWS, 5), (25, _ROWS, 5), (100, 100_000, 9))
_REPEATS = 2
_WARM_TO_COLD = 0.45


def all_calibrators() -> list[Row]:
    """Whole fits with ten classes: how often all rows are read, and how long it takes."""
    problem = generate(_ROWS, 10)
    rows = []
    for name, calibrator in _calibrators(problem).items():
        rows += _passes_and_time(f"{name}, n={_ROWS}", calibrator, problem)
    return rows


def many_rows() -> list[Row]:
    """The same for so many rows that they are read anew in every pass."""
    problem = generate(_MANY_ROWS, 10)
    rows = []
    for name, calibrator in _calibrators(problem).items():
        if name in ("Dirichlet, strengths given", "vector scaling", "temperature scaling"):
            target = _WARM_TO_COLD if name.startswith("Dirichlet") else None
            rows += _passes_and_time(f"{name}, n={_MANY_ROWS}", calibrator, problem, target)
    return rows


def solver_passes() -> list[Row]:
    """Passes of the solver alone, for a Dirichlet map with given strengths and clip."""
    rows = []
    for k, n, most in _SOLVERS:
        problem = generate(n, k)
        calibrator = DirichletCalibrator(
            **usual_strengths(n, k), clip=1e-15, classes=np.arange(k)
        ).fit(problem.proba, problem.labels)
        passes = calibrator.history_[-1].n_passes
        name = f"solver: Dirichlet ODIR, k={k}, n={n}"
        rows.append(Row(name, problem.name, "passes", passes, "limit", most, 1.0))
    return rows


def _calibrators(problem: Problem) -> dict[str, Any]:
    given = usual_strengths(len(problem.labels), problem.n_classes)
    return {
        "temperature scaling": TemperatureScaling(),
        "vector scaling": VectorScaling(),
        "Dirichlet, strengths given": DirichletCalibrator(**given),
        "Dirichlet, strengths learned": DirichletCalibrator(),
        "Bayesian Dirichlet": BayesianDirichletCalibrator(),
        "AutoCalibrator": AutoCalibrator(),
    }


def _passes_and_time(
    name: str, calibrator: Any, problem: Problem, target: float | None = None
) -> list[Row]:
    def fit() -> object:
        return calibrator.fit(problem.proba, problem.labels)

    n, cold_start = len(problem.labels), "start from the temperature map"
    warm, warm_seconds = count_folds(fit, n), []
    with _cold():
        cold, cold_seconds = count_folds(fit, n), []
    for _ in range(_REPEATS):
        warm_seconds.append(_seconds(fit))
        with _cold():
            cold_seconds.append(_seconds(fit))
    times = min(warm_seconds), min(cold_seconds)
    return [
        Row(f"passes: {name}", problem.name, "passes", warm, cold_start, cold, None),
        Row(f"time: {name}", problem.name, "s", times[0], cold_start, times[1], target),
    ]


@contextmanager
def _cold() -> Iterator[None]:
    """Without subsamples."""
    with mock.patch.object(AbstractChunkSource, "few", None):
        yield


def _seconds(call: Callable[[], object]) -> float:
    """Of the processor: other work on the machine does not count."""
    start = time.process_time()
    call()
    return time.process_time() - start
