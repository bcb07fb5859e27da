"""Newton's method and its steps, paths, the temperature and separation."""

from collections import Counter
from dataclasses import astuple, replace
from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.model.curved import Curved
from dircal._core.model.moments import HessianMoments
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import Penalty, l2, no_penalty, off_diagonal
from dircal._core.model.statistics import N_STATISTICS, curve_statistics
from dircal._core.model.structure import Diagonal, Full
from dircal._core.optim import newton as solve_module
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.path import order_of_path, solve_path
from dircal._core.optim.precondition import make_preconditioner, precondition
from dircal._core.optim.recession import SeparationTest, Verdict
from dircal._core.optim.separation import solve
from dircal._core.optim.steps import NewtonCG, Point
from dircal._core.optim.subsampled import SubsampledNewton, minimise_with_subsample
from dircal._core.optim.temperature import fit_temperature
from dircal.maps import CalibrationMap, LogProbability, LogSoftmax, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read


def rows_of(proba, y):
    return Rows(ArraySource(proba, y, None, READ))


def minimise_and_decide(objective, start, **options):
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
    solution = minimise_and_decide(objective, start_of(structure), tol=1e-12, max_iter=100)
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
    solution = minimise_and_decide(objective, start_of(structure), tol=1e-12, max_iter=100)
    sums = structure.unpack(solution.params).sum(axis=0)
    assert_allclose(sums, [1, 1, 1, 1, 0], atol=1e-9)


def test_separable_rows_have_their_optimum_at_infinity():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    objective = Objective(
        Likelihood(rows_of(proba, np.array([0, 0, 1, 1])), Diagonal(2)), no_penalty(2)
    )
    solution = minimise_and_decide(objective, start_of(Diagonal(2)), tol=1e-12, max_iter=100)
    assert solution.status is Status.SEPARATED
    assert np.isfinite(solution.params).all()
    assert solution.loss < 1e-5


def test_a_class_that_is_absent_goes_to_infinity_only_without_penalty(make_problem):
    problem = make_problem(2, n=200, k=3)
    y = np.where(problem.y == 2, 0, problem.y)
    rows = rows_of(problem.proba, y)
    structure = Full(3, 3)
    free = minimise_and_decide(
        Objective(Likelihood(rows, structure), no_penalty(3)),
        start_of(structure),
        tol=1e-12,
        max_iter=100,
    )
    assert free.status is Status.SEPARATED
    held = minimise_and_decide(
        Objective(Likelihood(rows, structure), l2(3, 1e-3)),
        start_of(structure),
        tol=1e-12,
        max_iter=100,
    )
    assert held.status is Status.CONVERGED


def test_the_limit_of_iterations_is_reported(problem):
    structure = Full(4, 4)
    objective = Objective(Likelihood(rows_of(problem.proba, problem.y), structure), l2(4, 1e-3))
    solution = minimise_and_decide(objective, start_of(structure), tol=1e-12, max_iter=1)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 1


@pytest.mark.parametrize("lam", [1e-7, 1e-3, 1e3])
def test_columns_of_log_zero_do_not_stop_the_solver(lam, zeros_problem):
    # The authors' Newton method stays at the identity here, with a loss of several nats.
    proba, y = zeros_problem
    structure = Full(3, 3)
    objective = Objective(Likelihood(rows_of(proba, y), structure), l2(3, lam))
    solution = minimise_and_decide(objective, start_of(structure), tol=1e-12, max_iter=100)
    from_zero = minimise_and_decide(objective, np.zeros(12), tol=1e-12, max_iter=100)
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
    solution = minimise_and_decide(objective, start_of(structure), tol=1e-12, max_iter=100)
    expected = Status.SEPARATED if is_separable(np.log(proba), y, k) else Status.CONVERGED
    assert solution.status is expected


def test_a_penalised_optimum_is_finite_however_far():
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    objective = Objective(
        Likelihood(rows_of(proba, np.array([0, 0, 1, 1])), Full(2, 2)), l2(2, 1e-9)
    )
    solution = minimise_and_decide(objective, start_of(Full(2, 2)), tol=1e-12, max_iter=100)
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
    solution = minimise_and_decide(objective, start_of(structure), tol=1e-12, max_iter=100)
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
    return minimise_and_decide(objective, start_of(objective.structure), tol=1e-12, max_iter=100)


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


# Steps with the Hessian of a subsample: fewer passes to the same optimum.


READ_LOGITS = CalibrationMap(2, (LogSoftmax(),)).read
LIMITS = {"tol": 1e-12, "max_iter": 100}


@pytest.fixture
def large_problem(make_problem):
    return make_problem(0, n=20_000, k=4)


def objective_of_logits(large_problem, structure, penalty):
    rows = Rows(ArraySource(large_problem.logits, large_problem.y, None, READ_LOGITS))
    return Objective(Likelihood(rows, structure), penalty)


@pytest.mark.parametrize("formed", [True, False])
@pytest.mark.parametrize("structure", [Full(4, 4), Full(4, 3), Diagonal(4)], ids=str)
def test_the_optimum_is_that_of_all_rows(structure, formed, large_problem, use_limits):
    if not formed:
        use_limits("OptimLimits", max_direct_params=1)
    objective = objective_of_logits(large_problem, structure, l2(4, 1e-3))
    cold = minimise(objective, start_of(structure), **LIMITS)
    warm = solve(objective, start_of(structure), every_row_right=False, **LIMITS)
    assert warm.status is cold.status is Status.CONVERGED
    assert warm.n_passes < cold.n_passes
    assert warm.loss == pytest.approx(cold.loss, abs=1e-12)
    assert_allclose(warm.params, cold.params, atol=1e-5)


def test_a_pair_of_gradients_puts_the_hessian_right_along_a_step(large_problem):
    """The secant equation: along the last step the inverse Hessian agrees with the gradients."""
    structure = Full(4, 4)
    objective = objective_of_logits(large_problem, structure, l2(4, 1e-2))
    # As wrong as can be: twice the curvature of all rows.
    few = replace(objective.subsample(), penalty=l2(4, 1.0))
    steps = SubsampledNewton(objective, few)
    first = steps.evaluate(start_of(structure))
    step = steps.newton_step(first).step
    second = steps.evaluate(first.params + step)
    steps.newton_step(second)
    change = second.at.gradient - first.at.gradient
    point = Point(second.params, replace(second.at, gradient=change))
    steps._last = None
    assert_allclose(steps.newton_step(point).step, -step, rtol=1e-8, atol=1e-12)


def test_a_subsample_that_misleads_costs_passes_and_not_the_answer(large_problem):
    structure = Full(4, 4)
    objective = objective_of_logits(large_problem, structure, l2(4, 1e-3))
    few = replace(objective.subsample(), penalty=l2(4, 1e3))
    found = minimise_with_subsample(objective, few, start_of(structure), **LIMITS)
    cold = minimise(objective, start_of(structure), **LIMITS)
    assert found.status is Status.CONVERGED
    assert found.loss == pytest.approx(cold.loss, abs=1e-12)
    passes = [each.n_passes for each in found.history]
    assert passes == sorted(passes)
    assert found.n_iter == len(passes) > cold.n_iter


def test_the_limit_of_iterations_counts_all_of_them(large_problem):
    structure = Full(4, 4)
    objective = objective_of_logits(large_problem, structure, no_penalty(4))
    found = solve(objective, start_of(structure), every_row_right=False, tol=1e-300, max_iter=9)
    assert found.n_iter <= 9
    assert found.status is not Status.CONVERGED


# Optima along a grid of strengths are those that each strength has by itself.


def flipped_rows(seed, n, k, flip=0.3):
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n, k))
    labels = np.where(rng.random(n) < flip, rng.integers(0, k, n), logits.argmax(axis=1))
    return Rows(ArraySource(logits, labels, None, READ_LOGITS))


GRIDS = {
    "l2": (Full(4, 4), [l2(4, lam) for lam in 10.0 ** np.arange(3, -8, -1.0)]),
    "reference": (Full(4, 3), [l2(4, lam) for lam in 10.0 ** np.arange(3, -8, -1.0)]),
    "odir": (
        Full(4, 4),
        [off_diagonal(4, 10.0**e, 10.0**f) for e in range(-3, 4) for f in (-3, 3)],
    ),
    "diagonal": (Diagonal(4), [l2(4, lam) for lam in (10.0, 0.1, 1e-3)]),
    "many": (Full(30, 30), [off_diagonal(30, lam, 1.0) for lam in (1e4, 1e2, 1.0)]),
}


@pytest.mark.parametrize(("structure", "penalties"), GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("forwards", [True, False])
def test_every_optimum_is_reached(structure, penalties, forwards):
    k = structure.n_classes
    rows = flipped_rows(0, 400, k)
    start = structure.pack(np.eye(k, k + 1))
    penalties = penalties if forwards else penalties[::-1]
    found = solve_path(
        Likelihood(rows, structure),
        penalties,
        start,
        every_row_right=False,
        tol=1e-10,
        max_iter=100,
    )
    for solution, penalty in zip(found, penalties, strict=True):
        objective = Objective(Likelihood(rows, structure), penalty)
        alone = minimise(objective, start, tol=1e-12, max_iter=100)
        loss = objective.evaluate(solution.params).loss
        assert solution.status is Status.CONVERGED
        assert loss == pytest.approx(alone.loss, abs=2e-10)
        assert solution.loss == pytest.approx(loss, abs=2e-10)


class CountedRows(Rows):
    """Counts passes over the rows, by what they do."""

    passes: ClassVar[Counter] = Counter()

    def fold(self, function):
        self.passes[function.func.__name__] += 1
        return super().fold(function)


def test_most_optima_cost_few_evaluations():
    structure = Full(4, 4)
    rows = CountedRows(flipped_rows(0, 400, 4).source)
    grid = [off_diagonal(4, lam, 1.0) for lam in 10.0 ** np.arange(3, -3, -0.1)]
    start = structure.pack(np.eye(4, 5))
    options = {"every_row_right": False, "tol": 1e-10, "max_iter": 50}
    list(solve_path(Likelihood(rows, structure), grid, start, **options))
    assert rows.passes["_evaluate"] <= 4 * len(grid)
    assert rows.passes["evaluate_with_hessian"] <= len(grid) / 2
    assert set(rows.passes) <= {"_evaluate", "evaluate_with_hessian", "_max_logit_change"}
    assert rows.passes["_max_logit_change"] <= 3


@pytest.mark.parametrize("k", [3, 30])
def test_endless_optima_are_settled_and_forgotten(k):
    rows = flipped_rows(1, 40, k, flip=0.0)
    structure = Full(k, k)
    start = structure.pack(np.eye(k, k + 1))
    penalties = [l2(k, 1e-2), no_penalty(k), l2(k, 1e-3)]
    first, endless, last = solve_path(
        Likelihood(rows, structure),
        penalties,
        start,
        every_row_right=False,
        tol=1e-10,
        max_iter=100,
    )
    assert endless.status is Status.SEPARATED
    alone = solve(
        Objective(Likelihood(rows, structure), penalties[1]),
        start,
        every_row_right=False,
        tol=1e-12,
        max_iter=100,
    )
    assert endless.loss == pytest.approx(alone.loss, rel=1e-6)
    for solution, penalty in ((first, penalties[0]), (last, penalties[2])):
        alone = minimise(
            Objective(Likelihood(rows, structure), penalty), start, tol=1e-12, max_iter=100
        )
        assert solution.loss == pytest.approx(alone.loss, abs=1e-9)


def test_the_order_is_from_strong_to_weak_without_jumps():
    grid = [off_diagonal(3, lam, mu) for lam in (0.1, 10.0) for mu in (1.0, 100.0, 0.01)]
    assert order_of_path(grid) == [4, 3, 5, 2, 0, 1]


@pytest.mark.parametrize("k", [3, 30])
def test_one_kind_of_penalty_is_settled_throughout(k):
    rows = flipped_rows(2, 40, k, flip=0.0)
    structure = Full(k, k)
    start = structure.pack(np.eye(k, k + 1))
    grid = [off_diagonal(k, lam, 1.0) for lam in (10.0, 1.0, 0.1, 0.01)]
    options = {"every_row_right": True, "tol": 1e-10, "max_iter": 100}
    path = solve_path(Likelihood(rows, structure), grid, start, **options)
    for solution, penalty in zip(path, grid, strict=True):
        alone = solve(Objective(Likelihood(rows, structure), penalty), start, **options)
        assert solution.status is alone.status is Status.SEPARATED
        scores = rows.source.fold(lambda chunk: [chunk])[0].scores
        one = structure.logits(solution.params, scores)
        other = structure.logits(alone.params, scores)
        assert np.abs((one - one.mean(axis=0)) - (other - other.mean(axis=0))).max() < 0.1


# One slope for all scores: the root of one derivative.


READ_RAW = CalibrationMap(2, ()).read


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


# Where the optimum is at infinity the answer still depends on the rows alone.


def separable(seed, n=30, k=3):
    """Rows that some map puts right without error."""
    logits = np.random.default_rng(seed).normal(size=(n, k))
    return logits, logits.argmax(axis=1)


def free_objective(logits, labels, structure, weight=None):
    rows = Rows(ArraySource(logits, labels, weight, READ_LOGITS))
    return Objective(Likelihood(rows, structure), no_penalty(logits.shape[1]))


def answer(objective, start):
    return solve(objective, start, every_row_right=False, tol=1e-12, max_iter=100)


@pytest.mark.parametrize("structure", [Full(3, 3), Full(3, 2), Diagonal(3)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_depends_on_the_rows_alone(structure, seed):
    logits, labels = separable(seed)
    start = structure.pack(np.eye(3, 4))
    objective = free_objective(logits, labels, structure)
    test = SeparationTest(objective)
    endless = minimise(objective, start, tol=1e-12, max_iter=100, separation=test)
    assert endless.status is Status.SEPARATED
    once = answer(objective, start)
    elsewhere = answer(objective, 0.1 * start)
    order = np.random.default_rng(seed).permutation(30)
    weight = np.random.default_rng(seed).integers(1, 4, 30)
    copies = np.repeat(np.arange(30), weight)
    shuffled = answer(free_objective(logits[order], labels[order], structure), start)
    weighted = answer(free_objective(logits, labels, structure, weight.astype(float)), start)
    copied = answer(free_objective(logits[copies], labels[copies], structure), start)
    assert once.status is Status.SEPARATED
    for one, other in ((once, elsewhere), (once, shuffled), (weighted, copied)):
        assert_allclose(
            structure.logits(one.params, logits.T),
            structure.logits(other.params, logits.T),
            rtol=1e-8,
            atol=1e-8,
        )


def test_it_is_nearly_as_good_as_anything():
    logits, labels = separable(0)
    objective = free_objective(logits, labels, Full(3, 3))
    found = answer(objective, Full(3, 3).pack(np.eye(3, 4)))
    assert 0.0 < found.loss < 1e-3
    assert found.loss == pytest.approx(objective.evaluate(found.params).loss)


def test_an_offset_common_to_all_scores_does_not_count():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    logits = 1e-2 * (rng.normal(size=(60, 4)) + 5.0 * np.eye(4)[labels])
    structure = Full(4, 4)
    for offset in (0.0, 3.0):
        rows = Rows(ArraySource(logits + offset, labels, None, READ_RAW))
        found = answer(
            Objective(Likelihood(rows, structure), no_penalty(4)), structure.pack(np.eye(4, 5))
        )
        assert found.loss < 1e-3


@pytest.mark.parametrize("structure", [Full(4, 4), Full(4, 3), Diagonal(4)], ids=repr)
def test_a_class_without_rows_is_seen_at_once(structure, monkeypatch):
    """No search is needed to know that the lower its intercept is, the better."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 4))
    labels = rng.choice([0, 1, 3], size=200)
    objective = free_objective(logits, labels, structure)
    start = structure.pack(np.eye(4, 5))
    test = SeparationTest(objective)
    searched = minimise(objective, start, tol=1e-12, max_iter=100, separation=test)
    assert searched.status is Status.SEPARATED
    # Whoever asks for a search now fails.
    monkeypatch.setattr("dircal._core.optim.separation.SeparationTest", None)
    found = answer(objective, start)
    assert found.status is Status.SEPARATED
    intercepts = structure.unpack(found.params)[:, -1]
    assert intercepts.argmin() == 2


# Whether there is a finite optimum is what linear programming over all rows says.


def overconfident(seed, k=9):
    """Log-probabilities of a classifier that is far too sure: few rows hold a slope, or none."""
    rng = np.random.default_rng(seed)
    n = 25 if seed % 3 == 2 else 60
    y = np.r_[:k, rng.integers(0, k, n - k)]
    return log_softmax(12.0 * (rng.normal(size=(n, k)) + 2.0 * np.eye(k)[y]), axis=1), y


def odir_of_scores(scores, y, structure=None, chunk_rows=None, penalty=None):
    k = scores.shape[1]
    rows = Rows(ArraySource(scores, y, None, READ_RAW, chunk_rows=chunk_rows))
    likelihood = Likelihood(rows, structure or Full(k, k))
    return Objective(likelihood, penalty or off_diagonal(k, 0.5, 0.1))


def has_direction(scores, y):
    """Whether slopes of the classes alone separate the rows, by one program over all of them."""
    n, k = scores.shape
    margins = np.zeros((n, k, k))
    every = np.arange(n)
    for j in range(k):
        margins[every, j, y] += scores[every, y]
        margins[every, j, j] -= scores[every, j]
    margins = margins[np.arange(k) != y[:, None]]
    margins /= np.abs(margins).sum(axis=1, keepdims=True)
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    total = margins.sum(axis=0)
    rows = (-margins, np.zeros(len(margins)))
    best = linprog(-total, A_ub=rows[0], b_ub=rows[1], bounds=(-1, 1), options=exact)
    return -best.fun > 1e-6


def solved(objective):
    start = start_of(objective.structure)
    return solve(objective, start, every_row_right=False, tol=1e-12, max_iter=100)


@pytest.mark.parametrize("seed", range(20))
def test_a_finite_optimum_is_reached_and_no_other_is_claimed(seed):
    scores, y = overconfident(seed)
    objective = odir_of_scores(scores, y)
    found = solved(objective)
    expected = Status.SEPARATED if has_direction(scores, y) else Status.CONVERGED
    assert found.status is expected
    if expected is Status.CONVERGED:
        further = minimise(objective, found.params, tol=1e-24, max_iter=100)
        assert found.loss == pytest.approx(further.loss, abs=1e-12)
        assert np.abs(objective.evaluate(found.params).gradient).max() < 1e-6


def test_both_answers_occur():
    answers = [has_direction(*overconfident(seed)) for seed in range(20)]
    assert 0 < sum(answers) < 20


@pytest.mark.parametrize("seed", range(6))
def test_the_answer_does_not_depend_on_chunks_or_on_the_first_guess(seed, use_limits):
    use_limits("OptimLimits", min_program_rows=2, program_rows_per_param=0)
    scores, y = overconfident(seed)
    expected = Verdict.SEPARATED if has_direction(scores, y) else Verdict.FINITE
    rng = np.random.default_rng(seed)
    for chunk_rows in (1, 7, None):
        objective = odir_of_scores(scores, y, chunk_rows=chunk_rows)
        gradient = objective.evaluate(start_of(objective.structure)).gradient
        test = SeparationTest(objective)
        assert test.decide([rng.normal(size=len(gradient))], gradient) is expected
        assert test.n_passes > 2


def test_what_is_penalised_is_no_way_out():
    """Intercepts separate an absent class where they are free, and only there."""
    rng = np.random.default_rng(0)
    scores = log_softmax(rng.normal(size=(200, 3)), axis=1)
    y = rng.integers(0, 2, 200)
    free_intercepts = off_diagonal(3, 1.0, 0.0)
    assert solved(odir_of_scores(scores, y, penalty=free_intercepts)).status is Status.SEPARATED
    assert solved(odir_of_scores(scores, y, penalty=l2(3, 1e-6))).status is Status.CONVERGED
    assert SeparationTest(odir_of_scores(scores, y, penalty=l2(3, 1e-6))).is_finite


def test_one_row_can_make_the_optimum_finite():
    """Slopes in the hundreds, which only two rows hold that are nearly the same."""
    scores = np.log(np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8], [0.5, 0.5]]))
    y = np.array([0, 0, 1, 1, 1])
    slope = Penalty(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]), np.zeros((2, 3)))
    assert solved(odir_of_scores(scores, y, penalty=slope)).status is Status.SEPARATED
    scores, y = np.vstack([scores, scores[1] * [1.0, 1.0 + 1e-2]]), np.append(y, 1)
    found = solved(odir_of_scores(scores, y, penalty=slope))
    assert found.status is Status.CONVERGED


def test_a_direction_that_changes_nothing_does_not_count():
    scores = np.log(np.full((42, 3), 1.0 / 3.0))
    y = np.arange(42) % 3
    for structure in (Full(3, 3), Diagonal(3)):
        objective = odir_of_scores(scores, y, structure, penalty=no_penalty(3))
        found = solved(objective)
        assert found.status is Status.CONVERGED
        assert_allclose(found.loss, objective.evaluate(np.zeros(structure.n_params)).loss)
        direction = structure.pack(np.column_stack([np.zeros((3, 3)), np.ones(3)]))
        verdict = SeparationTest(objective).decide([direction], np.ones(structure.n_params))
        assert verdict is not Verdict.SEPARATED


def test_too_many_free_parameters_are_left_open(use_limits):
    scores, y = overconfident(0)
    objective = odir_of_scores(scores, y)
    use_limits("OptimLimits", max_program_params=3)
    gradient = objective.evaluate(start_of(objective.structure)).gradient
    assert SeparationTest(objective).decide([gradient], gradient) is Verdict.OPEN
    test = SeparationTest(objective)
    start = start_of(objective.structure)
    found = minimise(objective, start, tol=1e-12, max_iter=100, separation=test)
    assert found.status is Status.CONVERGED
