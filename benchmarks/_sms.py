"""Rows about structured matrix scaling, where probmetrics is installed.

Its default solves another problem (the diagonal is penalised too) in single precision, and stops
some 2e-6 to 3e-5 above the optimum; ours goes on to 1e-12.
"""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
from _problems import Problem, problems, usual_strengths
from _timing import Row, race
from threadpoolctl import threadpool_limits

from dircal import DirichletCalibrator

__all__ = ["few_classes_against_sms", "many_classes_against_sms"]

# About how close to its optimum SMS comes.
_LOOSE = 1e-5


def few_classes_against_sms() -> list[Row]:
    """A fit with usual strengths and 10 classes, floor included."""
    if find_spec("probmetrics") is None:
        return []
    problem = problems(10)[0]
    strengths = usual_strengths(len(problem.labels), 10)
    ours = DirichletCalibrator(**strengths, classes=np.arange(10))
    return [_race(problem, "Dirichlet ODIR, floor learned, k=10", ours, None)]


def many_classes_against_sms() -> list[Row]:
    """The same with 100 classes; then one that is no closer than SMS."""
    if find_spec("probmetrics") is None:
        return []
    classes = np.arange(100)
    name = "Dirichlet ODIR, floor learned, k=100"
    rows = []
    for problem in problems(100):
        strengths = usual_strengths(len(problem.labels), 100)
        usual = DirichletCalibrator(**strengths, classes=classes)
        loose = DirichletCalibrator(**strengths, classes=classes, tol=_LOOSE)
        rows.append(_race(problem, name, usual, 1.0))
        rows.append(_race(problem, f"{name}, tol={_LOOSE:.0e}", loose, None))
    return rows


def _race(problem: Problem, name: str, ours: DirichletCalibrator, target: float | None) -> Row:
    # Imported here because it is optional; what it loads does not know the limit on threads yet.
    sms = import_module("probmetrics.calibrators").get_calibrator("logistic")
    with threadpool_limits(1):
        times = race(
            lambda: ours.fit(problem.proba, problem.labels),
            lambda: sms.fit(problem.proba, problem.labels),
        )
    return Row(
        name,
        problem.name,
        "s",
        times.ours,
        "probmetrics SMS",
        times.theirs,
        target,
        "SMS: single precision, another penalty, stops earlier",
    )
