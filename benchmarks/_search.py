"""Rows about choosing strengths: a whole grid beside one fit."""

import time
import warnings
from collections.abc import Callable

import numpy as np
from _problems import Problem, problems, usual_strengths
from _timing import Row

from dircal import CalibratorCV, DirichletCalibrator

__all__ = ["grids_against_one_fit"]

_COLD_FITS = 5


def grids_against_one_fit() -> list[Row]:
    """The paper's neural grid at k = 10 and 7 x 7 values at k = 100, 5 folds each."""
    few, many = problems(10)[0], problems(100)[0]
    decades = [10.0**e for e in range(-2, 5)]
    grid = {"lam": [9900 * e for e in decades], "mu": [100 * e for e in decades]}
    return [
        _against_one_fit(few, "paper_neural", "the paper's 36 x 12 grid, 5 folds, k=10", 300.0),
        _against_one_fit(many, grid, "a 7 x 7 grid, 5 folds, k=100", 100.0),
    ]


def _against_one_fit(problem: Problem, grid: object, what: str, target: float) -> Row:
    """The search once, and the quickest of some cold fits with usual strengths."""
    k = problem.n_classes
    strengths = usual_strengths(len(problem.labels), k)
    calibrator = DirichletCalibrator(**strengths, classes=np.arange(k))
    search = CalibratorCV(calibrator, grid)
    cold = min(
        _seconds(lambda: calibrator.fit(problem.proba, problem.labels)) for _ in range(_COLD_FITS)
    )
    seconds = _seconds(lambda: search.fit(problem.proba, problem.labels))
    n_fits = len(search.cv_results_["params"]) * search.n_splits_
    name = f"CalibratorCV, {what}"
    note = f"{n_fits} fits"
    return Row(name, problem.name, "s", seconds, "one fit", cold, target, note)


def _seconds(call: Callable[[], object]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        call()
        return time.perf_counter() - began
