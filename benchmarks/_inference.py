"""Rows about intervals and comparisons, and about the score test."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from _alone import Say
from _problems import Problem, generate
from _timing import Call, Row

from dircal import (
    TemperatureScaling,
    calibration_test,
    compare,
    confidence_interval,
    score_test,
)

__all__ = ["comparisons", "moments_against_draws", "score_tests"]

_REPEATS = 3
_N_FITTED, _N_COMPARED = 5_000, 100_000
_SECONDS_FOR_COMPARISON = 5.0
_N_TESTED = 10_000
_SECONDS_FOR_SCORE = 2.0
_DRAWS = 1_000
# The fewest rows with moments in place of draws; with one row less there are draws.
_N_WITH_MOMENTS = 100_000
_MOMENTS_OVER_DRAWS = 1 / 20
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


def moments_against_draws(say: Say) -> list[Row]:
    """Tests and intervals from moments, against draws for the same rows but one."""
    problem = generate(_N_WITH_MOMENTS, 10)
    calls: dict[str, Callable[..., object]] = {
        "calibration_test, classwise_ece": partial(calibration_test, statistic="classwise_ece"),
        "score_test": score_test,
        "confidence_interval, log_loss": partial(confidence_interval, metric="log_loss"),
        "confidence_interval, confidence_ece": partial(
            confidence_interval, metric="confidence_ece"
        ),
        "confidence_interval, classwise_ece": partial(confidence_interval, metric="classwise_ece"),
    }
    rows = []
    for name, call in calls.items():
        say(f"moments, {name}")
        by_moments, by_draws = (
            _processor_seconds(
                partial(
                    call,
                    y_true=problem.labels[:n],
                    y_prob=problem.proba[:n],
                    n_resamples=_DRAWS,
                    random_state=0,
                )
            )
            for n in (_N_WITH_MOMENTS, _N_WITH_MOMENTS - 1)
        )
        title, yardstick = f"{name}, moments, n=100 000, k=10", f"{_DRAWS} draws"
        # Nothing is promised for the score test, whose draws of sure rows cost little.
        target = None if name == "score_test" else _MOMENTS_OVER_DRAWS
        rows.append(Row(title, problem.name, "s", by_moments, yardstick, by_draws, target, _NOTE))
    return rows


def _processor_seconds(call: Call) -> float:
    """Smallest of some repeats; what else the machine does is not counted."""
    times = []
    for _ in range(_REPEATS):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)
