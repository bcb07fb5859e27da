"""Objectives and their derivatives: structures, penalties and statistics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax, softmax
from scipy.special import log_softmax as naive_log_softmax

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.curved import Curved
from dircal._core.model.logistic import LogisticObjective, log_odds
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import Penalty, l2, no_penalty, off_diagonal
from dircal._core.model.statistics import KNOTS, N_OWN_KNOTS, N_STATISTICS, curve_statistics
from dircal._core.model.structure import Diagonal, Full, Scalar
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.precondition import make_preconditioner
from dircal._core.optim.temperature import fit_temperature
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


K_LINEAR = 4
LINEAR = {
    "full": Full(K_LINEAR, K_LINEAR),
    "held": Full(K_LINEAR, K_LINEAR - 1),
    "diagonal": Diagonal(K_LINEAR),
    "scalar": Scalar(K_LINEAR),
}
FIRST_AND_REST = (slice(0, 7), slice(7, None))
each_structure = pytest.mark.parametrize("structure", LINEAR.values(), ids=LINEAR)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def jacobian(structure, scores):
    """Naive Jacobian (k, m, p) of the logits: one column for each parameter."""
    eye = np.eye(structure.n_params)
    return np.stack([structure.logits(e, scores) for e in eye], axis=-1)


@each_structure
def test_logits_are_the_unpacked_map(structure, rng):
    params, scores = rng.normal(size=structure.n_params), rng.normal(size=(K_LINEAR, 7))
    weights = structure.unpack(params)
    naive = weights[:, :-1] @ scores + weights[:, -1:]
    assert_allclose(structure.logits(params, scores), naive, rtol=1e-12)


@each_structure
def test_packing_reverses_unpacking(structure, rng):
    params = rng.normal(size=structure.n_params)
    assert_allclose(structure.pack(structure.unpack(params)), params)
    assert structure.entries(structure.unpack(params)).shape == params.shape


def test_packing_for_a_held_row_keeps_the_map(rng):
    weights, scores = rng.normal(size=(K_LINEAR, K_LINEAR + 1)), rng.normal(size=(K_LINEAR, 7))
    free, held = LINEAR["full"], LINEAR["held"]
    difference = held.logits(held.pack(weights), scores) - free.logits(weights.ravel(), scores)
    assert_allclose(difference, np.broadcast_to(difference[0], difference.shape), rtol=1e-12)


@each_structure
def test_adjoint_is_the_transposed_jacobian(structure, rng):
    scores, residual = rng.normal(size=(K_LINEAR, 7)), rng.normal(size=(K_LINEAR, 7))
    naive = np.einsum("imp,im->p", jacobian(structure, scores), residual)
    assert_allclose(structure.adjoint(residual, scores), naive, rtol=1e-12)


@each_structure
def test_the_hessian_is_the_naive_sum_over_rows(structure, rng):
    m = 2500  # several blocks of the Hessian
    scores, weight = rng.normal(size=(K_LINEAR, m)), rng.random(m)
    proba = rng.dirichlet(np.ones(K_LINEAR), size=m).T
    J = jacobian(structure, scores)
    middle = np.einsum("im,ij->ijm", proba, np.eye(K_LINEAR)) - np.einsum(
        "im,jm->ijm", proba, proba
    )
    naive = np.einsum("m,imp,ijm,jmq->pq", weight, J, middle, J, optimize=True)
    hessian = structure.hessian(proba, weight, scores)
    assert_allclose(hessian, naive, rtol=1e-10, atol=1e-10)

    moments = structure.hessian_moments(proba, weight, scores)
    assert_allclose(moments.second, np.diagonal(naive), rtol=1e-10)
    assert moments.first.shape == structure.param_class.shape == (structure.n_params,)


@each_structure
def test_moments_add_up_and_has_no_single_sums(structure, rng):
    scores, weight = rng.normal(size=(K_LINEAR, 60)), rng.random(60)
    proba = rng.dirichlet(np.ones(K_LINEAR), size=60).T
    whole = structure.hessian_moments(proba, weight, scores)
    parts = [
        structure.hessian_moments(proba[:, at], weight[at], scores[:, at]) for at in FIRST_AND_REST
    ]
    added = parts[0]
    added += parts[1]
    small = structure.hessian_moments(
        *(each.astype(np.float32) for each in (proba, weight, scores))
    )
    for name in ("first", "second", "coupling", "mass"):
        assert_allclose(getattr(added, name), getattr(whole, name), rtol=1e-10)
        assert_allclose(getattr(small, name), getattr(whole, name), rtol=1e-4, atol=1e-5)
        assert getattr(small, name).dtype == np.float64
    assert added.least_bernoulli_variance() == pytest.approx(whole.least_bernoulli_variance())


@each_structure
def test_null_directions_shift_all_logits_alike(structure, rng):
    scores = rng.normal(size=(K_LINEAR, 7))
    for shift in structure.null_directions:
        step = np.zeros(structure.n_params)
        step[shift] = 1.0
        change = structure.logits(step, scores)
        assert_allclose(change, np.broadcast_to(change[0], change.shape), atol=1e-12)
    assert len(structure.null_directions) == {"full": K_LINEAR + 1, "diagonal": 1}.get(
        next(name for name, other in LINEAR.items() if other is structure), 0
    )


def test_variance_survives_a_large_offset():
    # The difference of two second moments would be 0 or negative here.
    scores = np.array([[1e9], [1e9 + 1.0]])
    proba = np.array([[0.5], [0.5]])
    assert_allclose(Scalar(2).hessian(proba, np.ones(1), scores), [[0.25]])


# What weights are charged for.


def test_odir_is_the_formula_of_the_paper():
    weights = np.arange(12.0).reshape(3, 4)
    W, b = weights[:, :-1], weights[:, -1]
    penalty = off_diagonal(3, lam=5.0, mu=2.0)
    off = sum(W[i, j] ** 2 for i in range(3) for j in range(3) if i != j)
    formula = 5.0 / 6.0 * off + 2.0 / 3.0 * (b**2).sum()
    assert (penalty.weight * weights**2).sum() == pytest.approx(formula)


# The logistic objective is the general one for two classes, in fewer numbers.


FREE = Full(2, 1)


def three_features(scores):
    """The order of the parameters of `Full(2, 1)`, with signs for the second class."""
    return -np.vstack([scores, np.ones(scores.shape[1])])


@pytest.fixture(params=["plain", "weighted"])
def rows(request, make_problem):
    problem = make_problem(3, n=500, k=2)
    weight = np.random.default_rng(0).integers(0, 3, 500).astype(float)
    weight = weight if request.param == "weighted" else None
    return Rows(ArraySource(problem.proba, problem.y, weight, READ))


@pytest.mark.parametrize("scale", [0.1, 1.0, 1e4])
def test_it_is_the_general_objective(rows, scale):
    params = scale * np.random.default_rng(1).normal(size=3)
    ours = LogisticObjective(rows, three_features)
    general = Objective(Likelihood(rows, FREE), no_penalty(2))
    one, other = ours.evaluate_with_hessian(params), general.evaluate_with_hessian(params)
    assert one.loss == pytest.approx(other.loss, rel=1e-12)
    assert_allclose(one.gradient, other.gradient, atol=1e-12 * np.abs(other.gradient).max())
    assert_allclose(one.hessian, other.hessian, atol=1e-12 * max(np.abs(other.hessian).max(), 1))
    assert one.largest_row_loss == pytest.approx(other.largest_row_loss, rel=1e-12)
    assert ours.max_logit_change(params) == pytest.approx(general.max_logit_change(params))


def test_gradient_and_hessian_meet_finite_differences(rows):
    params, tilt = np.array([0.4, -0.7, 0.2]), np.array([0.3, 0.1, -0.2])
    objective = LogisticObjective(rows, three_features, tilt)
    at = objective.evaluate_with_hessian(params)
    for i, step in enumerate(1e-5 * np.eye(3)):
        up, down = (
            objective.evaluate_with_hessian(params + step),
            objective.evaluate_with_hessian(params - step),
        )
        assert (up.loss - down.loss) / 2e-5 == pytest.approx(at.gradient[i], abs=1e-8)
        assert_allclose((up.gradient - down.gradient) / 2e-5, at.hessian[i], atol=1e-6)


def test_both_ends_are_the_same_minimum(rows):
    start = FREE.pack(np.eye(2, 3))
    ours = minimise(LogisticObjective(rows, three_features), start, tol=1e-12, max_iter=50)
    general = minimise(
        Objective(Likelihood(rows, FREE), no_penalty(2)), start, tol=1e-12, max_iter=50
    )
    assert ours.status is general.status is Status.CONVERGED
    assert ours.loss == pytest.approx(general.loss, abs=1e-12)
    assert_allclose(ours.params, general.params, atol=1e-5)


def test_a_tilt_is_a_smoothed_target(rows):
    """Targets t instead of 0 and 1 change the loss by a linear function only."""
    params, target = np.array([0.7]), 0.9
    chunks = rows.source.fold(lambda chunk: [chunk])
    signs = np.concatenate([np.where(chunk.labels > 0, 1.0, -1.0) for chunk in chunks])
    odds = np.concatenate([log_odds(chunk.scores)[0] for chunk in chunks])
    share = np.concatenate([chunk.weight for chunk in chunks])
    tilt = np.array([(1.0 - target) * (share * signs * odds).sum()])
    hit = expit(signs * odds * params[0])
    naive = -(share * (target * np.log(hit) + (1 - target) * np.log(1 - hit))).sum()
    assert LogisticObjective(rows, log_odds, tilt).evaluate_with_hessian(
        params
    ).loss == pytest.approx(naive)


def test_margins_far_beyond_the_exponential():
    proba = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    rows = Rows(ArraySource(proba, np.array([1, 1, 0]), None, READ))
    at = LogisticObjective(rows, log_odds).evaluate_with_hessian(np.array([10.0]))
    assert at.loss == pytest.approx((10 * 708.396 + np.log(2)) / 3, rel=1e-6)
    assert np.isfinite(at.gradient).all()


def test_variance_tells_rows_that_can_be_separated():
    proba = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]])
    right = Rows(ArraySource(proba, np.array([0, 1, 1, 0]), None, READ))
    wrong = Rows(ArraySource(proba, np.array([0, 1, 0, 1]), None, READ))
    steep, even = np.array([60.0]), np.array([0.5])
    assert LogisticObjective(right, log_odds).bernoulli_variance(steep) < 1e-6
    assert LogisticObjective(wrong, log_odds).bernoulli_variance(even) > 0.05


def test_rows_that_are_read_again_for_every_pass(rows, use_limits):
    kept = LogisticObjective(rows, three_features).evaluate_with_hessian(np.ones(3))
    use_limits("DataLimits", cache_bytes=1, chunk_elements=64, min_chunk_rows=32)
    again = Rows(
        ArraySource(
            rows.source.inputs, rows.source.labels, rows.source.sample_weight, rows.source.read
        )
    )
    read = LogisticObjective(again, three_features).evaluate_with_hessian(np.ones(3))
    assert_allclose(read.hessian, kept.hessian, rtol=1e-10)


def test_two_classes_have_one_temperature(rows):
    ours = fit_temperature(rows, tol=1e-12, max_iter=50)
    general = Objective(Likelihood(rows, Scalar(2)), no_penalty(2))
    at = general.evaluate_with_hessian(ours.solution.params)
    assert abs(at.gradient[0]) < 1e-7
    assert at.loss == pytest.approx(ours.solution.loss, abs=1e-10)


# Statistics of curves, against their definition.


def naive(scores, knots=KNOTS):
    """One entry after another, as the module says."""
    k, m = scores.shape
    found = np.empty((2 + len(knots), k, m))
    for row in range(m):
        s = log_softmax(scores[:, row])
        entropy = sum(-np.exp(s_i) * s_i for s_i in s) / np.log(k)
        for i in range(k):
            rest = np.logaddexp.reduce(np.delete(s, i))
            found[0, i, row] = (s[i] - s.max()) ** 2 / 10
            found[1, i, row] = entropy * s[i]
            for c, knot in enumerate(knots):
                found[2 + c, i, row] = np.logaddexp(0.0, s[i] - rest - knot)
    return found


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0, 1e3])
def test_statistics_are_their_definition(k, scale):
    scores = scale * np.random.default_rng(0).normal(size=(k, 30)) + 5.0
    before = scores.copy()
    found = curve_statistics(scores)
    assert found.shape == (N_STATISTICS, k, 30)
    assert_allclose(found, naive(scores), rtol=1e-9, atol=1e-12)
    assert (scores == before).all()


def test_huge_scores_are_finite_and_straight():
    scores = np.array([[1e6, -1e6, 0.0], [0.0, 0.0, 0.0], [-1e6, 1e5, 0.0]])
    found = curve_statistics(scores)
    assert_allclose(found, naive(scores), rtol=1e-12, atol=1e-12)
    # The leading class is 1e6 above the rest.
    assert_allclose(found[2:, 0, 0], 1e6 - np.array(KNOTS))


def test_single_precision_does_not_overflow():
    scores = np.random.default_rng(0).normal(scale=60.0, size=(3, 50))
    found = curve_statistics(scores.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, naive(scores), rtol=2e-4, atol=2e-4)


def test_a_shift_changes_nothing_and_relabelling_permutes():
    scores = np.random.default_rng(0).normal(scale=4.0, size=(5, 20))
    order = [3, 0, 4, 1, 2]
    found = curve_statistics(scores)
    assert_allclose(curve_statistics(scores + 100.0), found, rtol=1e-9, atol=1e-9)
    assert_allclose(curve_statistics(scores[order]), found[:, order], rtol=1e-12)


def test_ties_have_the_same_statistics():
    found = curve_statistics(np.array([[2.0, 0.0], [2.0, 0.0], [-1.0, 0.0]]))
    assert_allclose(found[:, 0], found[:, 1])
    assert_allclose(found[0, :2], 0.0)
    # A uniform row has all the entropy there is.
    assert_allclose(found[1, :, 1], -np.log(3.0))


def test_hinges_of_a_class_of_its_own_are_spread_over_the_range():
    assert sorted(KNOTS[-N_OWN_KNOTS:]) == [-6.0, -3.0, 0.0, 3.0]
    assert len(set(KNOTS)) == len(KNOTS) == N_STATISTICS - 2


# A linear map with curves: every block of its derivatives against dense algebra.


K_CURVED, M = 4, 25
CURVED = {
    "full": Curved(Full(K_CURVED, K_CURVED), N_STATISTICS, 4),
    "full-shared": Curved(Full(K_CURVED, K_CURVED), N_STATISTICS, 0),
    "diagonal": Curved(Diagonal(K_CURVED), N_STATISTICS, 0),
}
each_curved = pytest.mark.parametrize("structure", CURVED.values(), ids=CURVED)
RNG_CURVED = np.random.default_rng(0)
PLAIN = RNG_CURVED.normal(scale=2.0, size=(K_CURVED, M))
STATISTICS = curve_statistics(PLAIN)
SCORES = np.concatenate([PLAIN[None], STATISTICS]).reshape(-1, M)
WEIGHT = RNG_CURVED.uniform(0.5, 2.0, size=M)


def jacobian_of_rows(structure):
    """Derivatives (m, k, p) of the logits: they are linear in the parameters."""
    columns = [structure.logits(e, SCORES) for e in np.eye(structure.n_params)]
    return np.array(columns).transpose(2, 1, 0)


def some(structure):
    params = np.random.default_rng(1).normal(scale=0.3, size=structure.n_params)
    return params, softmax(structure.logits(params, SCORES), axis=0)


def dense(structure, proba):
    J = jacobian_of_rows(structure)
    inner = proba.T[:, :, None] * np.eye(K_CURVED) - proba.T[:, :, None] * proba.T[:, None]
    return np.einsum("m,mip,mij,mjq->pq", WEIGHT, J, inner, J)


@each_curved
def test_logits_are_the_formula(structure):
    params, _ = some(structure)
    weights, coefficients = structure.unpack(params), structure.coefficients(params)
    expected = weights[:, :-1] @ PLAIN + weights[:, -1:]
    expected = expected + np.einsum("ic,cim->im", coefficients, STATISTICS)
    assert_allclose(structure.logits(params, SCORES), expected, rtol=1e-12, atol=1e-12)


@each_curved
def test_packing_has_no_curves(structure):
    weights = structure.unpack(np.arange(1.0, structure.n_params + 1.0))
    params = structure.pack(weights)
    assert_allclose(structure.unpack(params), weights)
    assert not structure.coefficients(params).any()
    assert_allclose(structure.entries(weights), params[: structure.base.n_params])


@each_curved
def test_adjoint_is_the_transpose(structure):
    residual = RNG_CURVED.normal(size=(K_CURVED, M))
    expected = np.einsum("mip,im->p", jacobian_of_rows(structure), residual)
    assert_allclose(structure.adjoint(residual, SCORES), expected, rtol=1e-11, atol=1e-11)


@each_curved
def test_hessian_is_dense_algebra_and_finite_differences(structure):
    params, proba = some(structure)
    hessian = structure.hessian(proba, WEIGHT, SCORES)
    assert_allclose(hessian, dense(structure, proba), rtol=1e-9, atol=1e-9)

    def gradient(at):
        p = softmax(structure.logits(at, SCORES), axis=0)
        return structure.adjoint(WEIGHT * p, SCORES)

    step = 1e-5
    steps = step * np.eye(structure.n_params)
    differences = [(gradient(params + e) - gradient(params - e)) / (2 * step) for e in steps]
    assert_allclose(hessian, differences, rtol=1e-5, atol=1e-5)


@each_curved
def test_common_shifts_are_null(structure):
    _, proba = some(structure)
    hessian = structure.hessian(proba, WEIGHT, SCORES)
    for shift in structure.null_directions:
        direction = np.zeros(structure.n_params)
        direction[shift] = 1.0
        assert_allclose(hessian @ direction, 0.0, atol=1e-9)


@each_curved
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_have_the_diagonal_and_the_shared_block(structure, dtype):
    _, proba = some(structure)
    hessian = dense(structure, proba)
    args = [each_curved.astype(dtype) for each_curved in (proba, WEIGHT, SCORES)]
    moments = structure.hessian_moments(*args)
    close = {"rtol": 1e-9} if dtype is np.float64 else {"rtol": 1e-3}
    assert_allclose(moments.second, hessian.diagonal(), **close)
    assert_allclose(moments.shared, hessian[structure.shared, structure.shared], **close)
    assert moments.coupling.shape == (K_CURVED + 1, K_CURVED + 1)
    pairs = -(WEIGHT * proba) @ proba.T
    off = ~np.eye(K_CURVED, dtype=bool)
    assert_allclose(moments.coupling[:K_CURVED, :K_CURVED][off], pairs[off], **close)
    assert all(part.dtype == np.float64 for part in vars(moments).values())
    assert len(structure.param_class) == structure.n_params
    assert (structure.param_class[structure.shared] == K_CURVED).all()
    # First moments: derivatives times the Bernoulli variance, where a class has its own.
    variance = WEIGHT * proba * (1.0 - proba)
    first = np.einsum("mip,im->p", jacobian_of_rows(structure), variance)
    first[structure.shared] = 0.0
    assert_allclose(moments.first, first, atol=1e-2 if dtype is np.float32 else 1e-9)


@each_curved
def test_single_precision_is_close(structure):
    params, proba = some(structure)
    small = SCORES.astype(np.float32)
    assert structure.logits(params.astype(np.float32), small).dtype == np.float32
    assert_allclose(
        structure.logits(params.astype(np.float32), small),
        structure.logits(params, SCORES),
        atol=1e-4,
    )
    found = structure.hessian(proba.astype(np.float32), WEIGHT.astype(np.float32), small)
    assert_allclose(found, dense(structure, proba), rtol=1e-3, atol=1e-2)


def test_features_of_a_class_are_those_of_the_base():
    for structure in CURVED.values():
        found = structure.features_of_class(1, SCORES)
        assert_allclose(found, structure.base.features_of_class(1, PLAIN))
