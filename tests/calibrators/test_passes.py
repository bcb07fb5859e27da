"""How often fits read their rows: the number of folds, what is folded, and what it returns."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    DirichletCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal._core.data.array_source import ArraySource
from dircal._core.data.chunks import AbstractChunkSource
from dircal.exceptions import ConvergenceWarning

N, K = 60_000, 10
GIVEN = {"lam": 0.1, "mu": 1e-3}
CALIBRATORS = {
    "temperature": TemperatureScaling(),
    "vector": VectorScaling(),
    "matrix": MatrixScaling(**GIVEN),
    "dirichlet": DirichletCalibrator(**GIVEN),
    "dirichlet-clip-given": DirichletCalibrator(**GIVEN, clip=1e-12),
    "dirichlet-l2": DirichletCalibrator(penalty="l2"),
    "dirichlet-none": DirichletCalibrator(penalty="none"),
    "dirichlet-learned": DirichletCalibrator(),
    "bayesian": BayesianDirichletCalibrator(),
    "bayesian-fixed": BayesianDirichletCalibrator(prior="fixed"),
    "auto": AutoCalibrator(),
}
BINARY = {"beta": BetaCalibrator(), "platt": PlattCalibrator()}
# With a survey, a learned clip and all: without a warm start most of them need three times as many.
MOST_FOLDS = {
    "temperature": 4,
    "vector": 5,
    "matrix": 6,
    "dirichlet": 6,
    "dirichlet-clip-given": 6,
    "dirichlet-l2": 6,
    "dirichlet-none": 6,
    "dirichlet-learned": 15,
    "bayesian": 25,
    "bayesian-fixed": 12,
    "auto": 50,
    "beta": 7,
    "platt": 6,
}


@pytest.fixture
def folds(monkeypatch):
    """Folds over sources: the number of rows, what was folded, and what came of it."""
    found, fold = [], ArraySource.fold

    def spy(source, function):
        sent = pickle.dumps(function)
        result = fold(source, pickle.loads(sent))
        found.append((source.n_samples, len(sent), len(pickle.dumps(result))))
        return result

    monkeypatch.setattr(ArraySource, "fold", spy)
    return found


def without_subsamples(monkeypatch):
    monkeypatch.setattr(AbstractChunkSource, "few", None)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_many_rows_are_read_a_few_times(name, make_problem, folds):
    problem = make_problem(0, n=N, k=K)
    CALIBRATORS[name].fit(problem.proba, problem.y)
    of_all = [sizes for n, *sizes in folds if n == N]
    assert 0 < len(of_all) <= MOST_FOLDS[name]
    # Whatever goes to rows or comes from them has a size of its own: some Hessians at most.
    n_params = K * (K + 1) + 60
    assert max(max(sizes) for sizes in of_all) <= 12 * 8 * n_params**2


@pytest.mark.parametrize("name", BINARY)
def test_many_rows_of_two_classes_are_read_a_few_times(name, make_problem, folds):
    problem = make_problem(0, n=N, k=2)
    BINARY[name].fit(problem.proba, problem.y)
    of_all = [sizes for n, *sizes in folds if n == N]
    assert 0 < len(of_all) <= MOST_FOLDS[name]
    assert max(max(sizes) for sizes in of_all) <= 5000


def test_one_against_the_rest_sends_little(make_problem, folds):
    problem = make_problem(0, n=2000, k=3)
    for binary in BINARY.values():
        OneVsRestCalibrator(binary).fit(problem.proba, problem.y)
    assert max(max(sizes) for _, *sizes in folds) <= 5000


@pytest.mark.parametrize(("n", "k", "most"), [(N, 3, 4), (160_000, 25, 5), (24_000, 100, 9)])
def test_solvers_read_many_rows_a_few_times(n, k, most, make_problem, folds):
    problem = make_problem(1, n=n, k=k)
    # As strong as a prior that each off-diagonal entry moves a logit by one in all.
    strengths = {"lam": (k * (k - 1)) ** 2 / n, "mu": k**2 / n}
    fit = DirichletCalibrator(**strengths, clip=1e-12, classes=np.arange(k))
    fit.fit(problem.proba, problem.y)
    # One more for the survey with the temperature map.
    assert sum(size == n for size, *_ in folds) <= most + 1
    assert fit.history_[-1].n_passes <= most


def test_few_rows_are_surveyed_once(make_problem, folds):
    problem = make_problem(0, n=500, k=4)
    TemperatureScaling(clip=1e-6).fit(problem.proba, problem.y)
    assert len(folds) <= 6


@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("rows", ["shuffled", "sorted", "weighted"])
def test_warm_and_cold_starts_end_at_the_same_map(name, rows, make_problem, monkeypatch):
    problem = make_problem(2, n=20_000, k=4)
    order = np.argsort(problem.y, kind="stable") if rows == "sorted" else np.arange(20_000)
    X, y = problem.proba[order], problem.y[order]
    weight = None
    if rows == "weighted":
        # Half of the rows count for nothing, and some for a thousand.
        weight = np.random.default_rng(0).choice([0.0, 1.0, 1000.0], 20_000, p=[0.5, 0.49, 0.01])
    warm = CALIBRATORS[name].fit(X, y, sample_weight=weight).predict_proba(X)
    without_subsamples(monkeypatch)
    cold = CALIBRATORS[name].fit(X, y, sample_weight=weight).predict_proba(X)
    assert_allclose(warm, cold, atol=2e-6)


@pytest.mark.parametrize("name", BINARY)
def test_warm_and_cold_starts_of_two_classes(name, make_problem, monkeypatch):
    problem = make_problem(2, n=20_000, k=2)
    warm = BINARY[name].fit(problem.proba, problem.y).predict_proba(problem.proba)
    without_subsamples(monkeypatch)
    cold = BINARY[name].fit(problem.proba, problem.y).predict_proba(problem.proba)
    assert_allclose(warm, cold, atol=1e-7)


def rare_class(problem):
    """Ten rows of the last class, none of which is in the subsample."""
    y = np.where(problem.y == 3, 0, problem.y)
    y[
        np.setdiff1d(np.arange(100), ArraySource(problem.proba, y, None, None).subsample().picked)[
            :10
        ]
    ] = 3
    return problem.proba, y


def faultless(problem):
    """Every row is right: larger slopes are always better."""
    return problem.proba, problem.proba.argmax(axis=1)


def faultless_but_for_a_few(problem):
    """Rows that are wrong are few, and none of them is in the subsample."""
    y = problem.proba.argmax(axis=1)
    picked = ArraySource(problem.proba, y, None, None).subsample().picked
    wrong = np.setdiff1d(np.arange(400), picked)[:40]
    y[wrong] = (y[wrong] + 1) % 4
    return problem.proba, y


def absent(problem):
    """A class without rows."""
    return problem.proba, np.where(problem.y == 3, 0, problem.y)


@pytest.mark.parametrize("rows", [rare_class, faultless, faultless_but_for_a_few, absent])
@pytest.mark.parametrize("name", ["temperature", "vector", "dirichlet", "dirichlet-none"])
def test_subsamples_that_mislead(name, rows, make_problem, monkeypatch):
    X, y = rows(make_problem(3, n=20_000, k=4))
    calibrator = CALIBRATORS[name]
    calibrator = type(calibrator)(**calibrator.get_params() | {"classes": range(4)})
    fit = partial(calibrator.fit, X, y)
    with warnings.catch_warnings(record=True) as of_warm:
        warnings.simplefilter("always", ConvergenceWarning)
        warm = fit().predict_proba(X)
    without_subsamples(monkeypatch)
    with warnings.catch_warnings(record=True) as of_cold:
        warnings.simplefilter("always", ConvergenceWarning)
        cold = fit().predict_proba(X)
    assert [str(each.message) for each in of_warm] == [str(each.message) for each in of_cold]
    assert_allclose(warm, cold, atol=2e-6)
