"""Rows about 100 classes: whole fits in units of one loss and gradient."""

from collections.abc import Callable

import numpy as np
from _passes import count_passes
from _problems import Problem, problems, usual_strengths
from _timing import Row, race

from dircal import DirichletCalibrator, VectorScaling
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood
from dircal._core.model.structure import Diagonal, Full, Structure
from dircal.maps import CalibrationMap, LogProbability, Normalise

__all__ = ["first_evaluation", "many_classes"]

_N_CLASSES = 100
_CLIP = 1e-15
_MOST_EVALUATIONS = 250.0
# How much weaker than the default the weak penalty is.
_WEAKER = 0.01


def many_classes() -> list[Row]:
    """Fits with 100 classes in units of one loss and gradient of the same structure."""
    networks = problems(_N_CLASSES)
    rows = [_odir(problem) for problem in networks]
    for problem in networks:
        rows += [_odir_clip_learned(problem), _weak_odir(problem), _l2(problem)]
    return [*rows, _vector_scaling(networks[0])]


def first_evaluation(problem: Problem, structure: Structure) -> Callable[[], object]:
    """One loss and gradient at the identity, on scores that are in memory already."""
    k = problem.n_classes
    read = CalibrationMap(k, (Normalise(), LogProbability())).read
    rows = Rows(ArraySource(problem.proba, problem.labels, None, read))
    likelihood = Likelihood(rows.with_clip(_CLIP), structure)
    start = structure.pack(np.eye(k, k + 1))
    # A new array each time: at one that it has seen the likelihood reads nothing.
    return lambda: likelihood.evaluate(start.copy())


def _odir(problem: Problem) -> Row:
    strengths = usual_strengths(len(problem.labels), _N_CLASSES)
    calibrator = DirichletCalibrator(**strengths, clip=_CLIP, classes=np.arange(_N_CLASSES))
    return _in_evaluations(problem, "Dirichlet ODIR", calibrator, _MOST_EVALUATIONS)


def _odir_clip_learned(problem: Problem) -> Row:
    strengths = usual_strengths(len(problem.labels), _N_CLASSES)
    calibrator = DirichletCalibrator(**strengths, classes=np.arange(_N_CLASSES))
    return _in_evaluations(problem, "Dirichlet ODIR, clip learned", calibrator)


def _weak_odir(problem: Problem) -> Row:
    weaker = usual_strengths(len(problem.labels), _N_CLASSES, _WEAKER)
    calibrator = DirichletCalibrator(**weaker, clip=_CLIP, classes=np.arange(_N_CLASSES))
    return _in_evaluations(problem, "Dirichlet ODIR, lam and mu / 100", calibrator)


def _l2(problem: Problem) -> Row:
    calibrator = DirichletCalibrator(penalty="l2", clip=_CLIP, classes=np.arange(_N_CLASSES))
    return _in_evaluations(problem, "Dirichlet L2, lam=1e-3", calibrator)


def _vector_scaling(problem: Problem) -> Row:
    calibrator = VectorScaling(classes=np.arange(_N_CLASSES))
    return _in_evaluations(problem, "vector scaling, clip learned", calibrator)


def _in_evaluations(
    problem: Problem,
    name: str,
    calibrator: DirichletCalibrator | VectorScaling,
    target: float | None = None,
) -> Row:
    def fit() -> object:
        return calibrator.fit(problem.proba, problem.labels)

    k = problem.n_classes
    structure = Diagonal(k) if isinstance(calibrator, VectorScaling) else Full(k, k)
    passes = count_passes(fit)
    times = race(fit, first_evaluation(problem, structure))
    return Row(
        f"{name}, k={k}",
        problem.name,
        "s",
        times.ours,
        "one loss and gradient",
        times.theirs,
        target,
        str(passes),
    )
