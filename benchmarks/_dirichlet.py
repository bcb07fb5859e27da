"""Rows about Dirichlet calibration with few classes."""

import warnings
from dataclasses import dataclass

import numpy as np
from _problems import FloatArray, Problem, mean_log_loss, problems, usual_strengths
from _timing import Row, race
from sklearn.linear_model import LogisticRegression

from dircal import DirichletCalibrator

__all__ = ["l2_against_sklearn", "odir_against_newton"]

_LAM = 1e-3
_FLOOR = 1e-15
_AGREEMENT = 1e-6
_TOLERANCES = tuple(10.0**-power for power in range(4, 11))


@dataclass(frozen=True)
class _Yardstick:
    """A logistic regression that is just accurate enough, and its data.

    ``gap`` is its objective minus that of our L2 fit.
    """

    model: LogisticRegression
    scores: FloatArray
    gap: float

    @property
    def note(self) -> str:
        """How accurate it is."""
        return f"tol={self.model.tol:.0e}, objective minus ours: {self.gap:.0e}"


def l2_against_sklearn() -> list[Row]:
    """Both solve the same convex problem; scikit-learn just to 1e-6, ours to rounding."""
    return [_race_l2(problem) for problem in problems(10)]


def odir_against_newton() -> list[Row]:
    """A fit with a learned floor beside scikit-learn's L2 fit by Newton, which has no ODIR."""
    problem = problems(10)[0]
    theirs = _just_accurate_enough(problem, _l2_calibrator(problem), "newton-cg")
    strengths = usual_strengths(len(problem.labels), 10)
    ours = DirichletCalibrator(**strengths, classes=np.arange(10))
    times = race(
        lambda: ours.fit(problem.proba, problem.labels),
        lambda: theirs.model.fit(theirs.scores, problem.labels),
    )
    return [
        Row(
            "Dirichlet ODIR, floor learned, k=10",
            problem.name,
            "s",
            times.ours,
            "LogisticRegression newton-cg (L2)",
            times.theirs,
            None,
            theirs.note,
        )
    ]


def _race_l2(problem: Problem) -> Row:
    ours = _l2_calibrator(problem)
    theirs = _just_accurate_enough(problem, ours, "lbfgs")
    times = race(
        lambda: ours.fit(problem.proba, problem.labels),
        lambda: theirs.model.fit(theirs.scores, problem.labels),
    )
    return Row(
        f"Dirichlet L2, k={problem.n_classes}",
        problem.name,
        "s",
        times.ours,
        "LogisticRegression lbfgs",
        times.theirs,
        1.0 / 5.0,
        theirs.note,
    )


def _l2_calibrator(problem: Problem) -> DirichletCalibrator:
    """Fitted once, so that its coefficients can be compared."""
    calibrator = DirichletCalibrator(
        penalty="l2", lam=_LAM, clip=_FLOOR, classes=np.arange(problem.n_classes)
    )
    return calibrator.fit(problem.proba, problem.labels)


def _just_accurate_enough(problem: Problem, fitted: DirichletCalibrator, solver: str) -> _Yardstick:
    """The loosest tolerance with which scikit-learn's objective is within 1e-6 of ours."""
    n_samples = len(problem.labels)
    logs = np.log(np.maximum(problem.proba, _FLOOR))
    scores = np.column_stack([logs, np.ones(n_samples)])
    our_weights = np.column_stack([fitted.coef_, fitted.intercept_])
    best = _objective(our_weights, scores, problem)
    for tol in _TOLERANCES:
        model = LogisticRegression(
            C=1.0 / (2.0 * n_samples * _LAM),
            fit_intercept=False,
            solver=solver,
            tol=tol,
            max_iter=100_000,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(scores, problem.labels)
        gap = _objective(model.coef_, scores, problem) - best
        if abs(gap) <= _AGREEMENT:
            return _Yardstick(model, scores, gap)
    raise RuntimeError(
        f"No tolerance of {solver} gives our objective on {problem.name}: it differs by {gap:.1e}."
    )


def _objective(weights: FloatArray, scores: FloatArray, problem: Problem) -> float:
    """Mean log-loss plus lam times the sum of squares, written out once more."""
    loss = mean_log_loss(scores @ weights.T, problem.labels)
    return loss + _LAM * float((weights**2).sum())
