"""Queries, in DuckDB and in PostgreSQL where there is one."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal import (
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRestCalibrator,
    PlattCalibrator,
    TemperatureScaling,
    VectorScaling,
)
from dircal.export import to_sql

KINDS = {
    "identity": IdentityCalibrator(),
    "temperature": TemperatureScaling(),
    "temperature-logit": TemperatureScaling(input_scale="logit"),
    "vector-logit": VectorScaling(input_scale="logit"),
    "matrix-logit": MatrixScaling(input_scale="logit", penalty="l2"),
    "dirichlet": DirichletCalibrator(penalty="l2"),
    "bayesian": BayesianDirichletCalibrator(),
    "bayesian-logit": BayesianDirichletCalibrator(input_scale="logit"),
    "average": CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1e-2, 1e-3]}, cv=2),
    "beta": OneVsRestCalibrator(BetaCalibrator()),
    "platt-logit": OneVsRestCalibrator(PlattCalibrator(input_scale="logit")),
    "isotonic": OneVsRestCalibrator(IsotonicCalibrator()),
    "histogram": OneVsRestCalibrator(HistogramCalibrator()),
}
pytestmark = pytest.mark.filterwarnings(
    "ignore::dircal.exceptions.ConvergenceWarning", "ignore::dircal.exceptions.GridEdgeWarning"
)


@pytest.fixture(params=["duckdb", "postgres"])
def database(request):
    """Name of a dialect, and what runs it."""
    return request.param, request.getfixturevalue(f"query_{request.param}")


def rows_of(scale, k, seed, n=60):
    """Rows of every size of probability, with zeros, one-hot rows and sums that are off."""
    rng = np.random.default_rng(seed)
    if scale == "logit":
        return np.vstack([rng.normal(scale=5, size=(n, k)), rng.uniform(-800, 800, (n, k))])
    small = softmax(rng.uniform(-700, 0, size=(n, k)), axis=1)
    zeros = rng.dirichlet(np.ones(k), size=n) * (rng.random((n, k)) < 0.5) + 1e-3 * np.eye(k)[0]
    coarse = rng.dirichlet(np.ones(k), size=n) * rng.uniform(0.9999, 1.0001, size=(n, 1))
    return np.vstack([np.eye(k), small, zeros / zeros.sum(axis=1, keepdims=True), coarse])


def names_of(k):
    """Names that only quotation marks make harmless."""
    hard = ["select", 'a "b"', "c's; DROP TABLE scores; --", "Größe", "%s {x}", "c1", "dircal_row"]
    return (hard + [f"p {i}" for i in range(k)])[:k]


def fit(calibrator, make_problem, k, **options):
    problem = make_problem(3, n=40 * k + 100, k=k)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    return calibrator.fit(X, problem.y)


@pytest.mark.parametrize("k", [2, 3, 17])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_agree(kind, k, database, make_problem):
    dialect, query = database
    fitted = fit(KINDS[kind], make_problem, k)
    X, columns = rows_of(fitted.input_scale, k, seed=k), names_of(k)
    found = query(to_sql(fitted, table="scores", columns=columns, dialect=dialect), X, columns)
    assert_allclose(found, fitted.predict_proba(X), rtol=0, atol=1e-12)


@given(k=st.integers(2, 30), seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)))
def test_queries_agree_for_any_number_of_classes(k, seed, kind, make_problem, query_duckdb):
    rng = np.random.default_rng(seed)
    calibrator = KINDS[kind]
    fitted = fit(calibrator, make_problem, k)
    X = rows_of(fitted.input_scale, k, seed, n=int(rng.integers(1, 40)))
    columns = names_of(k)
    found = query_duckdb(to_sql(fitted, table="scores", columns=columns), X, columns)
    assert_allclose(found, fitted.predict_proba(X), rtol=0, atol=1e-12)
