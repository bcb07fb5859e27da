"""Rows about intervals and comparisons, and about the score test."""

import time
from functools import partial

import numpy as np
from _alone import Say
from _problems import Problem, generate
from _timing import Call, Row

from dircal import TemperatureScaling, compare, score_test

__all__ = ["comparisons", "score_tests"]

_REPEATS = 3
_N_FITTED, _N_COMPARED = 5_000, 100_000
_SECONDS_FOR_COMPARISON = 5.0
_N_TESTED = 10_000
_SECONDS_FOR_SCORE = 2.0
_DRAWS = 1_000
_NOTE = "processor time, all threads"


def comparisons(say: Say) -> list[Row]:
    """All measures with and without a map: values, intervals, differences, p-values."""
    problem = generate(_N_FITTED + _N_COMPARED, 10)
    say("paired draws of all measures")
    rows = np.arange(_N_FITTED + _N_COMPARED)
    call = partial(
        compare,
        [TemperatureScaling()],
        problem.proba,
        problem.labels,
        cv=[(rows[:_N_FITTED], rows[_N_FITTED:])],
        n_resamples=_DRAWS,
        random_state=0,
    )
    name = "compare, all measures, n=100 000, k=10, 1000 paired draws"
    seconds = _processor_seconds(call)
    limit = _SECONDS_FOR_COMPARISON
    return [Row(name, problem.name, "s", seconds, "limit", limit, 1.0, _NOTE)]


def score_tests(say: Say) -> list[Row]:
    """The score test with 1000 draws."""
    rows = []
    for k in (10, 30, 100):
        # Predictions of a network leave few rows in doubt; flat ones leave all of them.
        flat = np.random.default_rng(0).dirichlet(np.full(k, 10.0), _N_TESTED)
        for problem in (
            generate(_N_TESTED, k),
            Problem(f"flat k={k}", flat, None, np.arange(_N_TESTED) % k),
        ):
            say(f"score test, {problem.name}")
            call = partial(
                score_test,
                problem.labels,
                problem.proba,
                n_resamples=_DRAWS,
                random_state=0,
                classes=range(k),
            )
            seconds = _processor_seconds(call)
            name = f"score_test, n=10 000, k={k}, 1000 draws"
            # The limit is for ten classes.
            target = 1.0 if k == 10 else None
            limit = _SECONDS_FOR_SCORE
            rows.append(Row(name, problem.name, "s", seconds, "limit", limit, target, _NOTE))
    return rows


def _processor_seconds(call: Call) -> float:
    """Smallest of some repeats; what else the machine does is not counted."""
    times = []
    for _ in range(_REPEATS):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)
