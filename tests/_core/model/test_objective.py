import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax as naive_log_softmax

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import Penalty, l2, no_penalty, off_diagonal
from dircal._core.model.structure import Diagonal, Full, Scalar
from dircal._core.optim.precondition import make_preconditioner
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read

K = 3
STRUCTURES = {"full": Full(K, K), "held": Full(K, K - 1), "diagonal": Diagonal(K)}


def make_objective(problem, structure, penalty, *, sample_weight=None, chunk_rows=None):
    reader = READ
    source = ArraySource(problem.proba, problem.y, sample_weight, reader, chunk_rows=chunk_rows)
    return Objective(Likelihood(Rows(source), structure), penalty)


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
    plain = objective.evaluate(point.copy())
    at = objective.evaluate_with_hessian(point)
    assert at.loss == pytest.approx(plain.loss, rel=1e-14)
    assert_allclose(at.gradient, plain.gradient, rtol=1e-12)

    numeric = central_differences(lambda p: objective.evaluate(p).loss, point)
    assert_allclose(plain.gradient, numeric, rtol=1e-6, atol=1e-8)
    numeric = central_differences(lambda p: objective.evaluate(p).gradient, point)
    assert_allclose(at.hessian, numeric, rtol=1e-6, atol=1e-8)

    vector = np.random.default_rng(5).normal(size=structure.n_params)
    expected = at.hessian @ vector - objective.penalty_hessian * vector
    model = objective.linearise(point, np.float64)
    assert model.at.loss == plain.loss
    assert_allclose(model.at.gradient, plain.gradient, rtol=1e-14)
    assert_allclose(model.product(vector), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(model.product(vector), expected, rtol=1e-9, atol=1e-12)  # may be called again

    small = objective.linearise(point, np.float32)
    assert small.at.loss == plain.loss
    assert_allclose(small.at.gradient, plain.gradient, rtol=1e-14)
    assert_allclose(small.product(vector), expected, atol=1e-6 * np.abs(expected).max())
    # Chunks keep what belongs to one point: the first one is found again.
    assert_allclose(model.product(vector), expected, rtol=1e-9, atol=1e-12)


def test_the_one_parameter_of_a_scalar_is_preconditioned_exactly(problem):
    objective = make_objective(problem, Scalar(K), no_penalty(K))
    model = objective.linearise(np.array([0.7]), np.float64)
    precondition = make_preconditioner(
        model.moments, objective.structure.param_class, objective.penalty_hessian
    )
    undone = precondition(model.product(np.array([3.0])))
    assert_allclose(undone, [3.0], rtol=1e-9)


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_products_do_not_depend_on_keeping_the_scores(precision, problem, use_limits):
    point = np.random.default_rng(4).normal(size=12)
    vector = np.random.default_rng(5).normal(size=12)
    args = (problem, STRUCTURES["full"], l2(K, 0.1))
    kept = make_objective(*args).linearise(point, precision)
    use_limits("DataLimits", cache_bytes=0)
    read = make_objective(*args, chunk_rows=7).linearise(point, precision)
    assert_allclose(read.product(vector), kept.product(vector), rtol=1e-5)
    assert_allclose(read.moments.second, kept.moments.second, rtol=1e-4)
    assert_allclose(read.moments.coupling, kept.moments.coupling, rtol=1e-4)


def test_loss_is_the_formula(problem, penalty):
    structure = STRUCTURES["full"]
    weights = np.random.default_rng(4).normal(size=(K, K + 1))
    W, b = weights[:, :-1], weights[:, -1]
    log_mu = naive_log_softmax(np.log(problem.proba) @ W.T + b, axis=1)
    likelihood = -log_mu[np.arange(len(problem.y)), problem.y].mean()
    extra = (penalty.weight * (weights - penalty.centre) ** 2).sum()
    objective = make_objective(problem, structure, penalty)
    assert objective.evaluate(weights.ravel()).loss == pytest.approx(likelihood + extra)


@pytest.mark.parametrize("chunk_rows", [1, 7, 60])
def test_chunks_sum_to_the_whole(chunk_rows, problem):
    weight = np.random.default_rng(2).integers(0, 3, len(problem.y)).astype(float)
    args = (problem, STRUCTURES["full"], l2(K, 0.1))
    whole = make_objective(*args, sample_weight=weight)
    parts = make_objective(*args, sample_weight=weight, chunk_rows=chunk_rows)
    point = np.random.default_rng(4).normal(size=12)
    one, many = whole.evaluate_with_hessian(point), parts.evaluate_with_hessian(point)
    assert many.loss == pytest.approx(one.loss, rel=1e-13)
    assert_allclose(many.gradient, one.gradient, rtol=1e-11, atol=1e-14)
    assert_allclose(many.hessian, one.hessian, rtol=1e-11, atol=1e-14)
    assert many.largest_row_loss == pytest.approx(one.largest_row_loss, rel=1e-12)


def test_the_largest_change_of_a_centred_logit(problem):
    objective = make_objective(problem, Scalar(K), no_penalty(K))
    scores = np.log(problem.proba)
    largest = np.abs(scores - scores.mean(axis=1, keepdims=True)).max()
    assert objective.max_logit_change(np.array([2.0])) == pytest.approx(2.0 * largest)


def test_only_unpenalised_columns_have_free_shifts(problem):
    free = make_objective(problem, Full(K, K), no_penalty(K)).null_directions()
    assert len(free) == K + 1
    slopes_only = make_objective(problem, Full(K, K), off_diagonal(K, 0.0, 1.0))
    assert len(slopes_only.null_directions()) == K
    assert not make_objective(problem, Full(K, K), off_diagonal(K, 1.0, 1.0)).null_directions()


@pytest.mark.parametrize("name", STRUCTURES)
def test_soft_labels_equal_weighted_hard_ones(name, problem):
    structure, rng = STRUCTURES[name], np.random.default_rng(0)
    targets = rng.dirichlet(np.ones(K), len(problem.y))
    rows, labels = np.nonzero(targets)
    soft = ArraySource(problem.proba, problem.y, None, READ, targets=targets)
    hard = ArraySource(problem.proba, labels, targets[rows, labels], READ, rows)
    params = rng.normal(size=structure.n_params)
    found, expected = (
        Objective(Likelihood(Rows(source), structure), no_penalty(K)).evaluate_with_hessian(params)
        for source in (soft, hard)
    )
    assert_allclose(found.loss, expected.loss, rtol=1e-12)
    assert_allclose(found.gradient, expected.gradient, atol=1e-12)
    assert_allclose(found.hessian, expected.hessian, atol=1e-12)
    assert_allclose(found.largest_row_loss, expected.largest_row_loss, rtol=1e-12)
