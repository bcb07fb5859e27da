import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.model.structure import Diagonal, Full, Scalar

K = 4
STRUCTURES = {
    "full": Full(K, K),
    "held": Full(K, K - 1),
    "diagonal": Diagonal(K),
    "scalar": Scalar(K),
}
FIRST_AND_REST = (slice(0, 7), slice(7, None))
each_structure = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def jacobian(structure, scores):
    """Naive Jacobian (k, m, p) of the logits: one column for each parameter."""
    eye = np.eye(structure.n_params)
    return np.stack([structure.logits(e, scores) for e in eye], axis=-1)


@each_structure
def test_logits_are_the_unpacked_map(structure, rng):
    params, scores = rng.normal(size=structure.n_params), rng.normal(size=(K, 7))
    weights = structure.unpack(params)
    naive = weights[:, :-1] @ scores + weights[:, -1:]
    assert_allclose(structure.logits(params, scores), naive, rtol=1e-12)


@each_structure
def test_packing_reverses_unpacking(structure, rng):
    params = rng.normal(size=structure.n_params)
    assert_allclose(structure.pack(structure.unpack(params)), params)
    assert structure.entries(structure.unpack(params)).shape == params.shape


def test_packing_for_a_held_row_keeps_the_map(rng):
    weights, scores = rng.normal(size=(K, K + 1)), rng.normal(size=(K, 7))
    free, held = STRUCTURES["full"], STRUCTURES["held"]
    difference = held.logits(held.pack(weights), scores) - free.logits(weights.ravel(), scores)
    assert_allclose(difference, np.broadcast_to(difference[0], difference.shape), rtol=1e-12)


@each_structure
def test_adjoint_is_the_transposed_jacobian(structure, rng):
    scores, residual = rng.normal(size=(K, 7)), rng.normal(size=(K, 7))
    naive = np.einsum("imp,im->p", jacobian(structure, scores), residual)
    assert_allclose(structure.adjoint(residual, scores), naive, rtol=1e-12)


@each_structure
def test_the_hessian_is_the_naive_sum_over_rows(structure, rng):
    m = 2500  # several blocks of the Hessian
    scores, weight = rng.normal(size=(K, m)), rng.random(m)
    proba = rng.dirichlet(np.ones(K), size=m).T
    J = jacobian(structure, scores)
    middle = np.einsum("im,ij->ijm", proba, np.eye(K)) - np.einsum("im,jm->ijm", proba, proba)
    naive = np.einsum("m,imp,ijm,jmq->pq", weight, J, middle, J, optimize=True)
    hessian = structure.hessian(proba, weight, scores)
    assert_allclose(hessian, naive, rtol=1e-10, atol=1e-10)

    moments = structure.hessian_moments(proba, weight, scores)
    assert_allclose(moments.second, np.diagonal(naive), rtol=1e-10)
    assert moments.first.shape == structure.param_class.shape == (structure.n_params,)


@each_structure
def test_moments_add_up_and_has_no_single_sums(structure, rng):
    scores, weight = rng.normal(size=(K, 60)), rng.random(60)
    proba = rng.dirichlet(np.ones(K), size=60).T
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
    scores = rng.normal(size=(K, 7))
    for shift in structure.null_directions:
        step = np.zeros(structure.n_params)
        step[shift] = 1.0
        change = structure.logits(step, scores)
        assert_allclose(change, np.broadcast_to(change[0], change.shape), atol=1e-12)
    assert len(structure.null_directions) == {"full": K + 1, "diagonal": 1}.get(
        next(name for name, other in STRUCTURES.items() if other is structure), 0
    )


def test_variance_survives_a_large_offset():
    # The difference of two second moments would be 0 or negative here.
    scores = np.array([[1e9], [1e9 + 1.0]])
    proba = np.array([[0.5], [0.5]])
    assert_allclose(Scalar(2).hessian(proba, np.ones(1), scores), [[0.25]])
