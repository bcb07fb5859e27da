import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax as naive_log_softmax

from dircal._core.data import chunks as rows_module
from dircal._core.data.chunks import Reader, Rows, Source
from dircal._core.data.simplex import log_probability
from dircal._core.model.objective import Objective
from dircal._core.model.penalty import Penalty, l2, no_penalty, off_diagonal
from dircal._core.model.structure import Diagonal, Full, Scalar

K = 3
STRUCTURES = {"full": Full(K, K), "held": Full(K, K - 1), "diagonal": Diagonal(K)}


def make_objective(problem, structure, penalty, *, sample_weight=None, chunk_rows=None):
    reader = Reader(log_probability)
    source = Source(problem.proba, problem.y, sample_weight, reader, chunk_rows)
    return Objective(Rows(source), structure, penalty)


@pytest.fixture
def problem(make_problem):
    return make_problem(3, n=60, k=K)


@pytest.fixture(params=["none", "l2", "odir", "centred"])
def penalty(request):
    rng = np.random.default_rng(1)
    return {
        "none": no_penalty(K),
        "l2": l2(K, 0.3),
        "odir": off_diagonal(K, 2.0, 0.7),
        "centred": Penalty(rng.random((K, K + 1)), rng.normal(size=(K, K + 1))),
    }[request.param]


def central_differences(function, point, step=1e-5):
    columns = []
    for e in np.eye(len(point)) * step:
        near = function(point + e) - function(point - e)
        far = function(point + 2 * e) - function(point - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_derivatives_meet_finite_differences(structure, penalty, problem):
    weight = np.random.default_rng(2).random(len(problem.y))
    objective = make_objective(problem, structure, penalty, sample_weight=weight)
    point = np.random.default_rng(4).normal(size=structure.n_params)
    loss, gradient = objective.loss_and_gradient(point)
    at = objective.second_order(point)
    assert at.loss == pytest.approx(loss, rel=1e-14)
    assert_allclose(at.gradient, gradient, rtol=1e-12)

    numeric = central_differences(lambda p: objective.loss_and_gradient(p)[0], point)
    assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-8)
    numeric = central_differences(lambda p: objective.loss_and_gradient(p)[1], point)
    assert_allclose(at.hessian, numeric, rtol=1e-6, atol=1e-8)

    vector = np.random.default_rng(5).normal(size=structure.n_params)
    model = objective.local_model(point)
    assert model.loss == loss
    assert_allclose(model.gradient, gradient, rtol=1e-14)
    assert_allclose(model.product(vector), at.hessian @ vector, rtol=1e-10)
    assert_allclose(model.product(vector), at.hessian @ vector, rtol=1e-10)  # may be called again

    in_single = objective.local_model(point, np.float32)
    assert in_single.loss == loss
    assert_allclose(in_single.gradient, gradient, rtol=1e-14)
    size = np.abs(at.hessian @ vector).max()
    assert_allclose(in_single.product(vector), at.hessian @ vector, atol=1e-6 * size)


def test_the_one_parameter_of_a_scalar_is_preconditioned_exactly(problem):
    objective = make_objective(problem, Scalar(K), no_penalty(K))
    model = objective.local_model(np.array([0.7]))
    undone = model.preconditioner()(model.product(np.array([3.0])))
    assert_allclose(undone, [3.0], rtol=1e-9)


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_products_do_not_depend_on_keeping_the_scores(precision, problem, monkeypatch):
    point = np.random.default_rng(4).normal(size=12)
    vector = np.random.default_rng(5).normal(size=12)
    args = (problem, STRUCTURES["full"], l2(K, 0.1))
    kept = make_objective(*args).local_model(point, precision)
    monkeypatch.setattr(rows_module, "_CACHE_BYTES", 0)
    read = make_objective(*args, chunk_rows=7).local_model(point, precision)
    assert read.kept is None
    assert_allclose(read.product(vector), kept.product(vector), rtol=1e-5)
    assert_allclose(read.preconditioner()(vector), kept.preconditioner()(vector), rtol=1e-4)


def test_loss_is_the_formula(problem, penalty):
    structure = STRUCTURES["full"]
    weights = np.random.default_rng(4).normal(size=(K, K + 1))
    W, b = weights[:, :-1], weights[:, -1]
    log_mu = naive_log_softmax(np.log(problem.proba) @ W.T + b, axis=1)
    likelihood = -log_mu[np.arange(len(problem.y)), problem.y].mean()
    extra = (penalty.weight * (weights - penalty.centre) ** 2).sum()
    objective = make_objective(problem, structure, penalty)
    assert objective.loss_and_gradient(weights.ravel())[0] == pytest.approx(likelihood + extra)


def test_odir_is_the_formula_of_the_paper():
    weights = np.arange(12.0).reshape(3, 4)
    W, b = weights[:, :-1], weights[:, -1]
    penalty = off_diagonal(3, lam=5.0, mu=2.0)
    off = sum(W[i, j] ** 2 for i in range(3) for j in range(3) if i != j)
    formula = 5.0 / 6.0 * off + 2.0 / 3.0 * (b**2).sum()
    assert (penalty.weight * weights**2).sum() == pytest.approx(formula)


@pytest.mark.parametrize("chunk_rows", [1, 7, 60])
def test_chunks_sum_to_the_whole(chunk_rows, problem):
    weight = np.random.default_rng(2).integers(0, 3, len(problem.y)).astype(float)
    args = (problem, STRUCTURES["full"], l2(K, 0.1))
    whole = make_objective(*args, sample_weight=weight)
    parts = make_objective(*args, sample_weight=weight, chunk_rows=chunk_rows)
    point = np.random.default_rng(4).normal(size=12)
    one, many = whole.second_order(point), parts.second_order(point)
    assert many.loss == pytest.approx(one.loss, rel=1e-13)
    assert_allclose(many.gradient, one.gradient, rtol=1e-11, atol=1e-14)
    assert_allclose(many.hessian, one.hessian, rtol=1e-11, atol=1e-14)
    assert_allclose(many.row_losses, one.row_losses, rtol=1e-12)


def test_reach_is_the_largest_change_of_a_centred_logit(problem):
    objective = make_objective(problem, Scalar(K), no_penalty(K))
    scores = np.log(problem.proba)
    largest = np.abs(scores - scores.mean(axis=1, keepdims=True)).max()
    assert objective.reach(np.array([2.0])) == pytest.approx(2.0 * largest)


def test_only_unpenalised_columns_have_free_shifts(problem):
    free = make_objective(problem, Full(K, K), no_penalty(K)).unpenalised_shifts()
    assert len(free) == K + 1
    slopes_only = make_objective(problem, Full(K, K), off_diagonal(K, 0.0, 1.0))
    assert len(slopes_only.unpenalised_shifts()) == K
    assert not make_objective(problem, Full(K, K), off_diagonal(K, 1.0, 1.0)).unpenalised_shifts()
