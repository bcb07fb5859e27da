"""Rows about learning the freedom of a map: beside one fit with constants, and beside a grid."""

import numpy as np
from _problems import problems
from _timing import Row, race

from dircal import BayesianDirichletCalibrator, DirichletCalibrator

__all__ = ["few_classes_against_odir", "many_classes_against_odir"]


def few_classes_against_odir() -> list[Row]:
    """With 10 classes, floor included."""
    return _against_odir(10, 10.0)


def many_classes_against_odir() -> list[Row]:
    """With 100 classes, floor included."""
    return _against_odir(100, 5.0)


def _against_odir(n_classes: int, target: float) -> list[Row]:
    rows = []
    for problem in problems(n_classes):
        ours = BayesianDirichletCalibrator(classes=np.arange(n_classes))
        odir = DirichletCalibrator(classes=np.arange(n_classes))
        times = race(
            lambda ours=ours, problem=problem: ours.fit(problem.proba, problem.labels),  # type: ignore[misc]
            lambda odir=odir, problem=problem: odir.fit(problem.proba, problem.labels),  # type: ignore[misc]
        )
        name = f"Bayesian Dirichlet, k={n_classes}"
        rows.append(
            Row(name, problem.name, "s", times.ours, "Dirichlet ODIR", times.theirs, target)
        )
    return rows
