from dataclasses import astuple, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import l2, no_penalty, off_diagonal
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim import newton as solve_module
from dircal._core.optim.newton import Status
from dircal._core.optim.recession import SeparationTest
from dircal._core.optim.steps import NewtonCG
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read


def rows_of(proba, y):
    return Rows(ArraySource(proba, y, None, READ))


def minimise(objective, start, **options):
    return solve_module.minimise(objective, start, **options, separation=SeparationTest(objective))


def start_of(structure, slope=1.0):
    return structure.pack(slope * np.eye(structure.n_classes, structure.n_classes + 1))


@pytest.fixture
def problem(make_problem):
    return make_problem(1, n=400, k=4)


@pytest.mark.parametrize("direct", [True, False], ids=["cholesky", "conjugate-gradients"])
@pytest.mark.parametrize(
    "penalty", [l2(4, 0.01), off_diagonal(4, 0.5, 0.1), no_penalty(4)], ids=["l2", "odir", "none"]
)
def test_both_ways_reach_the_optimum_of_a_general_solver(direct, penalty, problem, use_limits):
    use_limits("OptimLimits", max_direct_params=10**9 if direct else 0)
    structure = Full(4, 4)
    objective = Objective(Likelihood(rows_of(problem.proba, problem.y), structure), penalty)
    solution = minimise(objective, start_of(structure), tol=1e-12, max_iter=100)
    reference = minimize(
        lambda params: astuple(objective.evaluate(params))[:2],
        start_of(structure),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 5000},
    )
    assert solution.status is Status.CONVERGED
    assert solution.loss == pytest.approx(reference.fun, abs=1e-11)
    reached = objective.evaluate(solution.params)
    assert solution.loss == pytest.approx(reached.loss, abs=1e-11)
    assert np.abs(reached.gradient).max() < 1e-6
    assert solution.n_passes > solution.n_iter == len(solution.history)
    losses = [step.loss for step in solution.history]
    assert losses == sorted(losses, reverse=True)
    assert solution.history[-1].predicted_decrease <= 1e-12 < solution.history[0].predicted_decrease


def test_unpenalised_columns_do_not_drift(problem):
    structure = Full(4, 4)
    objective = Objective(Likelihood(rows_of(problem.proba, problem.y), structure), no_penalty(4))
    solution = minimise(objective, start_of(structure), tol=1e-12, max_iter=100)
    sums = structure.unpack(solution.params).sum(axis=0)
    assert_allclose(sums, [1, 1, 1, 1, 0], atol=1e-9)


def test_separable_rows_have_their_optimum_at_infinity():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    objective = Objective(
        Likelihood(rows_of(proba, np.array([0, 0, 1, 1])), Diagonal(2)), no_penalty(2)
    )
    solution = minimise(objective, start_of(Diagonal(2)), tol=1e-12, max_iter=100)
    assert solution.status is Status.SEPARATED
    assert np.isfinite(solution.params).all()
    assert solution.loss < 1e-5


def test_a_class_that_is_absent_goes_to_infinity_only_without_penalty(make_problem):
    problem = make_problem(2, n=200, k=3)
    y = np.where(problem.y == 2, 0, problem.y)
    rows = rows_of(problem.proba, y)
    structure = Full(3, 3)
    free = minimise(
        Objective(Likelihood(rows, structure), no_penalty(3)),
        start_of(structure),
        tol=1e-12,
        max_iter=100,
    )
    assert free.status is Status.SEPARATED
    held = minimise(
        Objective(Likelihood(rows, structure), l2(3, 1e-3)),
        start_of(structure),
        tol=1e-12,
        max_iter=100,
    )
    assert held.status is Status.CONVERGED


def test_the_limit_of_iterations_is_reported(problem):
    structure = Full(4, 4)
    objective = Objective(Likelihood(rows_of(problem.proba, problem.y), structure), l2(4, 1e-3))
    solution = minimise(objective, start_of(structure), tol=1e-12, max_iter=1)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 1


@pytest.mark.parametrize("lam", [1e-7, 1e-3, 1e3])
def test_columns_of_log_zero_do_not_stop_the_solver(lam, zeros_problem):
    # The authors' Newton method stays at the identity here, with a loss of several nats.
    proba, y = zeros_problem
    structure = Full(3, 3)
    objective = Objective(Likelihood(rows_of(proba, y), structure), l2(3, lam))
    solution = minimise(objective, start_of(structure), tol=1e-12, max_iter=100)
    from_zero = minimise(objective, np.zeros(12), tol=1e-12, max_iter=100)
    assert solution.status is from_zero.status is Status.CONVERGED
    assert solution.loss == pytest.approx(from_zero.loss, abs=1e-10)
    assert solution.loss < objective.evaluate(start_of(structure)).loss
    assert solution.loss < 1.1


def is_separable(scores, y, k):
    """Whether some map never lowers a true class against another, and raises one: by linear
    programming over all (W, b) with entries in [-1, 1]."""
    extended = np.column_stack([scores, np.ones(len(y))])
    margins = []
    for row, label in zip(extended, y, strict=True):
        for other in set(range(k)) - {label}:
            margin = np.zeros((k, k + 1))
            margin[label] += row
            margin[other] -= row
            margins.append(margin.ravel() / np.abs(row).max())
    margins = np.array(margins)
    best = linprog(-margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(margins)), bounds=(-1, 1))
    return -best.fun > 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_infinity_is_what_linear_programming_says(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.choice([2, 3, 4])), int(rng.choice([10, 30, 60]))
    proba = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0])), size=n).clip(1e-12)
    proba /= proba.sum(axis=1, keepdims=True)
    y = (rng.uniform(0.2, 1.0) * np.log(proba) + rng.gumbel(size=proba.shape)).argmax(axis=1)
    structure = Full(k, k)
    objective = Objective(Likelihood(rows_of(proba, y), structure), no_penalty(k))
    solution = minimise(objective, start_of(structure), tol=1e-12, max_iter=100)
    expected = Status.SEPARATED if is_separable(np.log(proba), y, k) else Status.CONVERGED
    assert solution.status is expected


def test_a_penalised_optimum_is_finite_however_far():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    objective = Objective(
        Likelihood(rows_of(proba, np.array([0, 0, 1, 1])), Full(2, 2)), l2(2, 1e-9)
    )
    solution = minimise(objective, start_of(Full(2, 2)), tol=1e-12, max_iter=100)
    assert solution.status is Status.CONVERGED


def test_a_step_into_a_flat_direction_is_cut_short():
    """Fewer distinct rows than classes, no penalty, conjugate gradients: steps of 1e21 occur."""
    rng = np.random.default_rng(32)
    k, n = 50, 60
    logits = rng.normal(scale=0.1, size=(12, k))[np.arange(n) % 12]
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = rng.choice(5, p=[0.6, 0.2, 0.1, 0.05, 0.05], size=n)
    structure = Full(k, k)
    objective = Objective(Likelihood(rows_of(proba, y), structure), no_penalty(k))
    solution = minimise(objective, start_of(structure), tol=1e-12, max_iter=100)
    assert solution.status is Status.SEPARATED
    assert solution.loss == pytest.approx(0.4922, abs=1e-4)


K_MANY = 40


def odir_of(problem, *, chunk_rows=None, sample_weight=None):
    """Default ODIR with so many classes that steps come from products."""
    source = ArraySource(problem.proba, problem.y, sample_weight, READ, chunk_rows=chunk_rows)
    n = source.total_weight
    pairs = K_MANY * (K_MANY - 1)
    penalty = off_diagonal(K_MANY, pairs**2 / n, K_MANY**2 / n)
    return Objective(Likelihood(Rows(source), Full(K_MANY, K_MANY)), penalty)


@pytest.fixture
def many_classes(make_problem):
    return make_problem(7, n=500, k=K_MANY)


def solve_many(objective):
    return minimise(objective, start_of(objective.structure), tol=1e-12, max_iter=100)


def test_single_precision_does_not_show(many_classes, use_limits):
    rough = solve_many(odir_of(many_classes))
    use_limits("OptimLimits", min_float32_variance=2.0)
    exact = solve_many(odir_of(many_classes))
    assert rough.status is exact.status is Status.CONVERGED
    assert rough.loss == pytest.approx(exact.loss, abs=1e-11)
    assert_allclose(rough.params, exact.params, atol=1e-6)
    assert np.abs(odir_of(many_classes).evaluate(rough.params).gradient).max() < 1e-6


@pytest.mark.parametrize("chunk_rows", [1, 7, 100])
def test_many_classes_do_not_feel_the_chunks(chunk_rows, many_classes):
    whole = solve_many(odir_of(many_classes))
    parts = solve_many(odir_of(many_classes, chunk_rows=chunk_rows))
    assert parts.loss == pytest.approx(whole.loss, abs=1e-11)


def test_where_a_class_is_in_no_doubt_precision_is_double(many_classes):
    proba = many_classes.proba.copy()
    sure = many_classes.y == 0
    proba[sure] = 1e-12
    proba[sure, 0] = 1.0 - 39e-12
    proba[~sure, 0] = 1e-12
    proba /= proba.sum(axis=1, keepdims=True)
    pairs = K_MANY * (K_MANY - 1)
    penalty = off_diagonal(K_MANY, pairs**2 / 500, K_MANY**2 / 500)
    objective = Objective(Likelihood(rows_of(proba, many_classes.y), Full(K_MANY, K_MANY)), penalty)
    steps = NewtonCG(objective, 1e-12)
    steps.newton_step(steps.evaluate(start_of(objective.structure)))
    assert steps._dtype is np.float64


def test_a_slow_step_asks_for_double_precision_and_strictness(many_classes, use_limits):
    use_limits("OptimLimits", max_float32_products=0, max_flat_products=0)
    steps = NewtonCG(odir_of(many_classes), 1e-12)
    point = steps.evaluate(start_of(Full(K_MANY, K_MANY)))
    assert steps._dtype is np.float32
    steps.newton_step(point)
    assert steps._dtype is np.float64
    assert steps._negligible == 0.0


def test_many_classes_with_an_absent_one_end_at_infinity(many_classes):
    """Without a penalty nothing stops the intercept of a class that never occurs."""
    y = np.where(many_classes.y == 0, 1, many_classes.y)
    structure = Full(K_MANY, K_MANY)
    objective = Objective(Likelihood(rows_of(many_classes.proba, y), structure), no_penalty(K_MANY))
    assert solve_many(objective).status is Status.SEPARATED


def test_weights_count_like_copies_with_many_classes(many_classes):
    weight = np.random.default_rng(2).integers(1, 4, len(many_classes.y))
    weighted = solve_many(odir_of(many_classes, sample_weight=weight.astype(float)))
    copies = replace(
        many_classes,
        proba=np.repeat(many_classes.proba, weight, axis=0),
        y=np.repeat(many_classes.y, weight),
    )
    assert solve_many(odir_of(copies)).loss == pytest.approx(weighted.loss, abs=1e-11)


def test_many_classes_can_be_relabelled(many_classes):
    order = np.random.default_rng(3).permutation(K_MANY)
    plain = solve_many(odir_of(many_classes))
    other = replace(
        many_classes, proba=many_classes.proba[:, order], y=np.argsort(order)[many_classes.y]
    )
    turned = solve_many(odir_of(other))
    assert turned.loss == pytest.approx(plain.loss, abs=1e-11)
    table = Full(K_MANY, K_MANY).unpack(plain.params)[order][:, [*order, K_MANY]]
    assert_allclose(Full(K_MANY, K_MANY).unpack(turned.params), table, atol=1e-6)
