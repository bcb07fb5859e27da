"""Rows about applying a map and about importing the library."""

import os
import subprocess
import sys
import time

import numpy as np
from _problems import generate
from _timing import Row, race

from dircal import DirichletCalibrator

__all__ = ["import_against_sklearn", "predict_against_arithmetic"]

_N_PREDICTED = 100_000
_N_FITTED = 5_000
_CHUNK = 512
_IMPORTS = 12
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def predict_against_arithmetic() -> list[Row]:
    """`predict_proba` beside the three steps that no map of this kind can do without."""
    problem = generate(_N_PREDICTED, 100)
    proba = problem.proba
    calibrator = DirichletCalibrator(penalty="l2", classes=np.arange(100))
    calibrator.fit(proba[:_N_FITTED], problem.labels[:_N_FITTED])
    weights = calibrator.coef_.T.copy()
    logs, out = np.empty_like(proba), np.empty_like(proba)

    def whole() -> None:
        # Into arrays that exist already: with fresh ones it would take longer.
        np.log(proba, out=logs)
        np.matmul(logs, weights, out=out)
        np.exp(out, out=out)

    def in_cache() -> None:
        for start in range(0, _N_PREDICTED, _CHUNK):
            part = out[start : start + _CHUNK]
            np.matmul(np.log(proba[start : start + _CHUNK]), weights, out=part)
            np.exp(part, out=part)

    rows = []
    for yardstick, target, call in (
        ("log, matrix product, exp", 2.0, whole),
        (f"the same, {_CHUNK} rows at a time", None, in_cache),
    ):
        times = race(lambda: calibrator.predict_proba(proba), call)
        name = "predict_proba, n=100 000, k=100"
        rows.append(Row(name, problem.name, "s", times.ours, yardstick, times.theirs, target))
    return rows


def import_against_sklearn() -> list[Row]:
    """Importing in a fresh interpreter, less the time that the interpreter takes to start."""
    codes = ("pass", "import dircal._public", "import sklearn.linear_model")
    # In turns, so that a busy moment hits all three alike.
    times = [[_interpreter_seconds(code) for code in codes] for _ in range(_IMPORTS)]
    bare, ours, theirs = np.min(times, axis=0).tolist()
    return [
        Row(
            "import dircal",
            "none",
            "s",
            ours - bare,
            "import sklearn.linear_model",
            theirs - bare,
            1.5,
            f"start of the interpreter ({1e3 * bare:.0f} ms) subtracted",
        )
    ]


def _interpreter_seconds(code: str) -> float:
    start = time.perf_counter()
    # -I: neither the current directory nor the user's settings take part.
    subprocess.run([sys.executable, "-I", "-c", code], check=True, env=os.environ | _ONE_THREAD)
    return time.perf_counter() - start
