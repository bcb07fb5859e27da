"""Rows about structured matrix scaling, where probmetrics is installed.

Its default solves another problem (the diagonal is penalised too) in single precision, and stops
some 2e-6 to 3e-5 above the optimum; ours goes on to 1e-12.
"""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
from _problems import Problem, problems
from _timing import Row, race
from threadpoolctl import threadpool_limits

from dircal import DirichletCalibrator

__all__ = ["few_classes_against_sms", "many_classes_against_sms"]

# About how close to its optimum SMS comes.
_LOOSE = 1e-5


def few_classes_against_sms() -> list[Row]:
    """The default fit with 10 classes, floor included."""
    if find_spec("probmetrics") is None:
        return []
    ours = DirichletCalibrator(classes=np.arange(10))
    return [_race(problems(10)[0], "Dirichlet ODIR, default, k=10", ours, None)]


def many_classes_against_sms() -> list[Row]:
    """The default fit with 100 classes, floor included; then one that is no closer than SMS."""
    if find_spec("probmetrics") is None:
        return []
    classes = np.arange(100)
    name = "Dirichlet ODIR, floor learned, k=100"
    default = DirichletCalibrator(classes=classes)
    loose = DirichletCalibrator(classes=classes, tol=_LOOSE)
    return [
        row
        for problem in problems(100)
        for row in (
            _race(problem, name, default, 1.0),
            _race(problem, f"{name}, tol={_LOOSE:.0e}", loose, None),
        )
    ]


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
