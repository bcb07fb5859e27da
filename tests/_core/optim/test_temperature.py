"""One slope for all scores: the root of one derivative."""

import numpy as np
import pytest

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.optim.newton import Status
from dircal._core.optim.temperature import fit_temperature
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read


READ_RAW = CalibrationMap(2, ()).read


def rows_of(proba, y):
    return Rows(ArraySource(proba, y, None, READ))


def test_temperature_is_the_root_of_the_gradient(vectors):
    fit = fit_temperature(rows_of(vectors.proba, vectors.y), tol=1e-14, max_iter=50)
    # From mpmath with 40 digits: findroot of the derivative of the mean log-loss in 1/t.
    assert 1.0 / fit.slope == pytest.approx(1.7079520262058348, rel=1e-11)
    assert fit.solution.n_passes <= 7


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_temperature_does_not_care_about_the_scale(scale, make_problem):
    problem = make_problem(5, n=500, k=5)

    def fit(logits):
        rows = Rows(ArraySource(logits, problem.y, None, READ_RAW))
        return fit_temperature(rows, tol=1e-12, max_iter=50)

    scaled, plain = fit(problem.logits * scale), fit(problem.logits)
    assert scaled.slope * scale == pytest.approx(plain.slope, rel=1e-9)
    assert scaled.solution.n_passes <= plain.solution.n_passes + 1 <= 15


def test_temperature_where_every_row_is_right():
    proba = np.array([[0.9, 0.1], [0.4, 0.6]])
    fit = fit_temperature(rows_of(proba, np.array([0, 1])), tol=1e-12, max_iter=50)
    assert fit.solution.status is Status.SEPARATED
    assert 10.0 < fit.slope < np.inf


@pytest.mark.parametrize("start", [None, 1.0])
def test_temperature_where_the_scores_point_away(start):
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    fit = fit_temperature(rows_of(proba, np.array([1, 0, 1])), tol=1e-12, max_iter=50, start=start)
    assert fit.solution.status is Status.SEPARATED
    assert 0.0 < fit.slope < 1e-3
    assert fit.solution.loss == pytest.approx(np.log(2.0), abs=1e-5)


def test_temperature_of_uniform_rows_is_one():
    fit = fit_temperature(rows_of(np.full((5, 4), 0.25), np.zeros(5, int)), tol=1e-12, max_iter=9)
    assert fit.slope == 1.0
    assert fit.solution.status is Status.CONVERGED


def test_temperature_with_zeros_on_the_true_class_is_huge_with_the_clip_of_the_paper(
    zeros_problem,
):
    proba, y = zeros_problem
    fit = fit_temperature(rows_of(proba, y).with_clip(TINY), tol=1e-12, max_iter=50)
    assert fit.solution.status is Status.CONVERGED
    assert 1.0 / fit.slope > 50.0
    assert fit.solution.n_passes <= 15
