"""Rows about learning the freedom of a map: beside one fit with constants, and beside a grid."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
from _problems import problems, usual_strengths
from _timing import Row, race
from threadpoolctl import threadpool_limits

from dircal import BayesianDirichletCalibrator, DirichletCalibrator

__all__ = [
    "curves_against_none",
    "curves_against_sms",
    "few_classes_against_odir",
    "many_classes_against_odir",
]


def few_classes_against_odir() -> list[Row]:
    """With 10 classes, floor included."""
    return _against_odir(10, 10.0)


def many_classes_against_odir() -> list[Row]:
    """With 100 classes, floor included."""
    return _against_odir(100, 5.0)


def _against_odir(n_classes: int, target: float) -> list[Row]:
    rows = []
    for problem in problems(n_classes):
        ours = BayesianDirichletCalibrator(classes=np.arange(n_classes), curves="none")
        strengths = usual_strengths(len(problem.labels), n_classes)
        odir = DirichletCalibrator(**strengths, classes=np.arange(n_classes))
        times = race(
            lambda ours=ours, problem=problem: ours.fit(problem.proba, problem.labels),  # type: ignore[misc]
            lambda odir=odir, problem=problem: odir.fit(problem.proba, problem.labels),  # type: ignore[misc]
        )
        name = f"Bayesian Dirichlet without curves, k={n_classes}"
        rows.append(
            Row(name, problem.name, "s", times.ours, "Dirichlet ODIR", times.theirs, target)
        )
    return rows


def curves_against_none() -> list[Row]:
    """A map with curves beside one without, with 10 classes, floor included."""
    rows = []
    for problem in problems(10):
        bent = BayesianDirichletCalibrator(classes=np.arange(10))
        straight = BayesianDirichletCalibrator(classes=np.arange(10), curves="none")
        times = race(
            lambda bent=bent, problem=problem: bent.fit(problem.proba, problem.labels),  # type: ignore[misc]
            lambda straight=straight, problem=problem: straight.fit(problem.proba, problem.labels),  # type: ignore[misc]
        )
        name = "Bayesian Dirichlet with curves, k=10"
        rows.append(Row(name, problem.name, "s", times.ours, "without curves", times.theirs, 3.0))
    return rows


def curves_against_sms() -> list[Row]:
    """A map with curves beside structured matrix scaling, where probmetrics is installed."""
    if find_spec("probmetrics") is None:
        return []
    rows = []
    for problem in [*problems(100), *problems(1000)]:
        k = problem.proba.shape[1]
        bent = BayesianDirichletCalibrator(classes=np.arange(k))
        # Optional; what it loads does not know the limit on threads yet.
        sms = import_module("probmetrics.calibrators").get_calibrator("sms")
        with threadpool_limits(1):
            times = race(
                lambda bent=bent, problem=problem: bent.fit(problem.proba, problem.labels),  # type: ignore[misc]
                lambda sms=sms, problem=problem: sms.fit(problem.proba, problem.labels),  # type: ignore[misc]
            )
        name = f"Bayesian Dirichlet with curves, k={k}"
        rows.append(Row(name, problem.name, "s", times.ours, "probmetrics SMS", times.theirs, 2.0))
    return rows
