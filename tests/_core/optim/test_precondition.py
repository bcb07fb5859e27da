import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.curved import Curved
from dircal._core.model.moments import HessianMoments
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import off_diagonal
from dircal._core.model.statistics import N_STATISTICS, curve_statistics
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim.precondition import make_preconditioner, precondition
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_it_inverts_the_model_of_the_curvature(rng):
    c, q = 4, 5
    proba, weight = rng.dirichlet(np.ones(c), size=50).T, rng.random(50)
    A = np.diag(proba @ weight) - (weight * proba) @ proba.T
    means, deviations, penalty = (
        rng.normal(size=(c, q)),
        rng.random((c, q)) + 1.0,
        rng.random((c, q)),
    )
    variance = A.diagonal()[:, None]
    moments = HessianMoments(
        (variance * means).ravel(), (variance * (means**2 + deviations)).ravel(), A, proba @ weight
    )
    param_class = np.repeat(np.arange(c), q)
    V = np.zeros((c * q, c))
    V[np.arange(c * q), param_class] = means.ravel()
    model = np.diag((variance * deviations + penalty).ravel()) + V @ A @ V.T
    precondition = make_preconditioner(moments, param_class, penalty.ravel())
    inverse = np.stack([precondition(e) for e in np.eye(c * q)], axis=1)
    assert_allclose(inverse @ model, np.eye(c * q), atol=1e-9)


def test_it_is_positive_where_a_class_is_dead_and_nothing_is_penalised(rng):
    scores, weight = rng.normal(size=(3, 20)) - 5.0, np.full(20, 0.05)
    proba = np.vstack([rng.dirichlet(np.ones(2), size=20).T, np.zeros(20)])
    structure = Full(3, 3)
    moments = structure.hessian_moments(proba, weight, scores)
    assert 0.0 < moments.least_bernoulli_variance() <= 1.0
    precondition = make_preconditioner(moments, structure.param_class, np.zeros(12))
    inverse = np.stack([precondition(e) for e in np.eye(12)], axis=1)
    assert np.isfinite(inverse).all()
    assert np.linalg.eigvalsh(0.5 * (inverse + inverse.T)).min() > 0.0


def test_it_brings_the_curvatures_of_many_classes_together(make_problem):
    problem = make_problem(3, n=300, k=12)
    structure = Full(12, 12)
    rows = Rows(ArraySource(problem.proba, problem.y, None, READ))
    pairs = 12 * 11
    objective = Objective(
        Likelihood(rows, structure), off_diagonal(12, pairs**2 / 300, 12**2 / 300)
    )
    point = structure.pack(np.eye(12, 13))
    hessian = objective.evaluate_with_hessian(point).hessian
    moments = objective.linearise(point, np.float64).moments
    precondition = make_preconditioner(moments, structure.param_class, objective.penalty_hessian)
    turned = np.stack([precondition(column) for column in hessian], axis=1)
    curvatures = np.linalg.eigvals(turned).real
    assert curvatures.max() / curvatures.min() < 0.05 * np.linalg.cond(hessian)


@pytest.mark.parametrize("base", [Full(4, 4), Diagonal(4)], ids=["full", "diagonal"])
def test_what_classes_share_is_inverted_as_it_is(base, rng):
    structure = Curved(base, N_STATISTICS, 0)
    plain, weight = rng.normal(size=(4, 30)), rng.random(30)
    scores = np.concatenate([plain[None], curve_statistics(plain)]).reshape(-1, 30)
    proba = rng.dirichlet(np.ones(4), size=30).T
    penalty = rng.random(structure.n_params) + 0.1
    hessian = structure.hessian(proba, weight, scores) + np.diag(penalty)
    moments = structure.hessian_moments(proba, weight, scores)
    both = precondition(moments, structure.param_class, penalty)
    vector = rng.normal(size=structure.n_params)
    shared = structure.shared
    assert_allclose(both(vector)[shared], np.linalg.solve(hessian[shared, shared], vector[shared]))
    # The classes are as they are without curves.
    n = base.n_params
    alone = make_preconditioner(
        base.hessian_moments(proba, weight, plain), base.param_class, penalty[:n]
    )
    assert_allclose(both(vector)[:n], alone(vector[:n]), rtol=1e-6)
