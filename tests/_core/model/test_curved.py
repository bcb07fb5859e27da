"""A linear map with curves: every block of its derivatives against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal._core.model.curved import Curved
from dircal._core.model.statistics import N_STATISTICS, curve_statistics
from dircal._core.model.structure import Diagonal, Full

K, M = 4, 25
STRUCTURES = {
    "full": Curved(Full(K, K), N_STATISTICS, 4),
    "full-shared": Curved(Full(K, K), N_STATISTICS, 0),
    "diagonal": Curved(Diagonal(K), N_STATISTICS, 0),
}
each = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
RNG = np.random.default_rng(0)
PLAIN = RNG.normal(scale=2.0, size=(K, M))
STATISTICS = curve_statistics(PLAIN)
SCORES = np.concatenate([PLAIN[None], STATISTICS]).reshape(-1, M)
WEIGHT = RNG.uniform(0.5, 2.0, size=M)


def jacobian(structure):
    """Derivatives (m, k, p) of the logits: they are linear in the parameters."""
    columns = [structure.logits(e, SCORES) for e in np.eye(structure.n_params)]
    return np.array(columns).transpose(2, 1, 0)


def some(structure):
    params = np.random.default_rng(1).normal(scale=0.3, size=structure.n_params)
    return params, softmax(structure.logits(params, SCORES), axis=0)


def dense(structure, proba):
    J = jacobian(structure)
    inner = proba.T[:, :, None] * np.eye(K) - proba.T[:, :, None] * proba.T[:, None]
    return np.einsum("m,mip,mij,mjq->pq", WEIGHT, J, inner, J)


@each
def test_logits_are_the_formula(structure):
    params, _ = some(structure)
    weights, coefficients = structure.unpack(params), structure.coefficients(params)
    expected = weights[:, :-1] @ PLAIN + weights[:, -1:]
    expected = expected + np.einsum("ic,cim->im", coefficients, STATISTICS)
    assert_allclose(structure.logits(params, SCORES), expected, rtol=1e-12, atol=1e-12)


@each
def test_packing_has_no_curves(structure):
    weights = structure.unpack(np.arange(1.0, structure.n_params + 1.0))
    params = structure.pack(weights)
    assert_allclose(structure.unpack(params), weights)
    assert not structure.coefficients(params).any()
    assert_allclose(structure.entries(weights), params[: structure.base.n_params])


@each
def test_adjoint_is_the_transpose(structure):
    residual = RNG.normal(size=(K, M))
    expected = np.einsum("mip,im->p", jacobian(structure), residual)
    assert_allclose(structure.adjoint(residual, SCORES), expected, rtol=1e-11, atol=1e-11)


@each
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


@each
def test_common_shifts_are_null(structure):
    _, proba = some(structure)
    hessian = structure.hessian(proba, WEIGHT, SCORES)
    for shift in structure.null_directions:
        direction = np.zeros(structure.n_params)
        direction[shift] = 1.0
        assert_allclose(hessian @ direction, 0.0, atol=1e-9)


@each
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_moments_have_the_diagonal_and_the_shared_block(structure, dtype):
    _, proba = some(structure)
    hessian = dense(structure, proba)
    args = [each.astype(dtype) for each in (proba, WEIGHT, SCORES)]
    moments = structure.hessian_moments(*args)
    close = {"rtol": 1e-9} if dtype is np.float64 else {"rtol": 1e-3}
    assert_allclose(moments.second, hessian.diagonal(), **close)
    assert_allclose(moments.shared, hessian[structure.shared, structure.shared], **close)
    assert moments.coupling.shape == (K + 1, K + 1)
    pairs = -(WEIGHT * proba) @ proba.T
    off = ~np.eye(K, dtype=bool)
    assert_allclose(moments.coupling[:K, :K][off], pairs[off], **close)
    assert all(part.dtype == np.float64 for part in vars(moments).values())
    assert len(structure.param_class) == structure.n_params
    assert (structure.param_class[structure.shared] == K).all()
    # First moments: derivatives times the Bernoulli variance, where a class has its own.
    variance = WEIGHT * proba * (1.0 - proba)
    first = np.einsum("mip,im->p", jacobian(structure), variance)
    first[structure.shared] = 0.0
    assert_allclose(moments.first, first, atol=1e-2 if dtype is np.float32 else 1e-9)


@each
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
    for structure in STRUCTURES.values():
        found = structure.features_of_class(1, SCORES)
        assert_allclose(found, structure.base.features_of_class(1, PLAIN))
