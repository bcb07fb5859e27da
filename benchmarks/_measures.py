"""Rows about measures of many rows, and about the calibration test."""

import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from _alone import INPUTS, LABELS, Say, run_alone
from _problems import FloatArray, Problem, generate
from _timing import Row, race

from dircal import calibration_test, confidence_interval, metrics, score_test

__all__ = [
    "measures_of_many_rows",
    "memory_of_many_rows",
    "tests_of_classes",
    "tests_of_confidence",
]

_N_TESTED = 10_000
_DRAWS = 10_000
_PLAIN_DRAWS = 20
_SECONDS_FOR_CLASSES = {10: 8.0, 100: 15.0}
_SECONDS_FOR_CONFIDENCE = 0.5
_GIGABYTES = 0.5


def measures_of_many_rows() -> list[Row]:
    """Binned measures of a million rows beside one exponential of the array."""
    problem = generate(1_000_000, 10)
    rows = []
    for name in ("confidence_ece", "classwise_ece"):
        measure = partial(getattr(metrics, name), problem.labels, problem.proba)
        times = race(measure, partial(np.exp, problem.proba))
        rows.append(
            Row(
                f"{name}, n=1 000 000, k=10",
                problem.name,
                "s",
                times.ours,
                "exponential of the array",
                times.theirs,
                3.0,
            )
        )
    return rows


def memory_of_many_rows(say: Say) -> list[Row]:
    """What tests and intervals of a million rows hold at once, beside the rows themselves."""
    problem = generate(1_000_000, 10)
    tasks: dict[str, Callable[..., object]] = {
        "calibration_test, classwise_ece": partial(calibration_test, statistic="classwise_ece"),
        "confidence_interval, classwise_ece": partial(confidence_interval, metric="classwise_ece"),
        "score_test": score_test,
    }
    found = []
    for name, task in tasks.items():
        say(f"memory of {name}")
        tracemalloc.start()
        task(problem.labels, problem.proba, n_resamples=100, random_state=0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        described = f"memory: {name}, n=1 000 000, k=10, 100 draws"
        size = problem.proba.nbytes / 1e9
        found.append(Row(described, problem.name, "GB", peak / 1e9, "the rows", size, 1.0))
    return found


def tests_of_confidence(say: Say) -> list[Row]:
    """The test of the confidence with 10 000 draws."""
    problem = generate(_N_TESTED, 100)
    say("test of the confidence")
    seconds = min(_seconds_of_test(problem, "confidence_ece") for _ in range(3))
    name = "calibration_test, confidence_ece, n=10 000, k=100, 10 000 draws"
    return [Row(name, problem.name, "s", seconds, "limit", _SECONDS_FOR_CONFIDENCE, 1.0)]


def tests_of_classes(say: Say) -> list[Row]:
    """The test of the classes with 10 000 draws: seconds, memory, and a plain loop beside it."""
    rows = []
    for k, limit in _SECONDS_FOR_CLASSES.items():
        # Predictions of a network leave few rows in doubt; flat ones leave all of them.
        flat = np.random.default_rng(0).dirichlet(np.full(k, 10.0), _N_TESTED)
        problems = (
            generate(_N_TESTED, k),
            Problem(f"flat k={k}", flat, None, np.arange(_N_TESTED) % k),
        )
        for problem in problems:
            say(f"test of the classes, {problem.name}")
            seconds = _seconds_of_test(problem, "classwise_ece")
            plain = _plain_seconds(problem.proba) * _DRAWS / _PLAIN_DRAWS
            name = f"calibration_test, classwise_ece, n=10 000, k={k}, 10 000 draws"
            rows.append(Row(name, problem.name, "s", seconds, "limit", limit, 1.0))
            loop = f"plain loop, {_PLAIN_DRAWS} draws scaled up"
            rows.append(Row(name, problem.name, "s", seconds, loop, plain, 0.05))
    problem = generate(_N_TESTED, 100)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, INPUTS), problem.proba)
        np.save(Path(folder, LABELS), problem.labels)
        found = run_alone("test_of_classes", Path(folder), say)
    name = "memory: calibration_test, classwise_ece, n=10 000, k=100"
    rows.append(Row(name, problem.name, "GB", found["gigabytes"], "limit", _GIGABYTES, 1.0))
    return rows


def _seconds_of_test(problem: Problem, statistic: str) -> float:
    began = time.perf_counter()
    calibration_test(
        problem.labels,
        problem.proba,
        statistic=statistic,  # type: ignore[arg-type]
        n_resamples=_DRAWS,
        random_state=0,
        classes=range(problem.n_classes),
    )
    return time.perf_counter() - began


def _plain_seconds(proba: FloatArray) -> float:
    """Draw the labels of every row, then bin every class again: what the definition says."""
    rng = np.random.default_rng(0)
    n, k = proba.shape
    edges = np.arange(1, 15) / 15
    began = time.perf_counter()
    for _ in range(_PLAIN_DRAWS):
        labels = (rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1)
        error = 0.0
        for j in range(k):
            index = np.digitize(proba[:, j], edges, right=True)
            for b in range(15):
                inside = index == b
                if inside.any():
                    gap = (labels[inside] == j).mean() - proba[inside, j].mean()
                    error += inside.mean() * abs(gap) / k
    return time.perf_counter() - began
