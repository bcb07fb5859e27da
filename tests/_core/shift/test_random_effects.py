"""Random effects of groups: derivatives, and precisions that find the truth."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import softmax

from dircal._core.shift.random_effects import _Rows, _Structure, fit_random_effects


def scores_and_labels(seed, n, k, slope=1.0, intercepts=0.0):
    rng = np.random.default_rng(seed)
    scores = np.log(rng.dirichlet(np.ones(k), n)).T
    scores -= scores.mean(axis=0)
    truth = softmax(slope * scores.T + intercepts, axis=1)
    return scores, (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("shrunk", [1.0, 0.1])
def test_derivatives(k, shrunk):
    scores, labels = scores_and_labels(0, 40, k)
    weight = np.random.default_rng(1).random(40)
    rows = _Rows(_Structure(k), shrunk * scores, labels, weight)
    assert (rows.scale > 1.0) == (shrunk < 1.0)
    start = np.random.default_rng(2).normal(scale=0.1, size=len(_Structure(k).kind))
    nothing = np.zeros(len(start))
    assert check_grad(rows.loss, lambda at: rows.derivatives(at, nothing)[0], start) < 1e-4
    precision = np.random.default_rng(3).uniform(0.5, 20.0, size=len(start))
    _, curvature = rows.derivatives(start, precision)
    for i in (0, 1, len(start) - 1):
        step = np.zeros(len(start))
        step[i] = 1e-5
        ends = [rows.derivatives(start + sign * step, precision)[0] for sign in (1.0, -1.0)]
        column = (ends[0] - ends[1]) / 2e-5
        assert_allclose(curvature.solve(column), 1e5 * step, atol=1e-4)


def test_derivatives_with_soft_labels():
    scores, labels = scores_and_labels(0, 40, 3)
    targets = np.random.default_rng(1).dirichlet(np.ones(3), 40).T
    rows = _Rows(_Structure(3), scores, labels, np.ones(40), targets)
    start = np.random.default_rng(2).normal(scale=0.1, size=len(_Structure(3).kind))
    nothing = np.zeros(len(start))
    assert check_grad(rows.loss, lambda at: rows.derivatives(at, nothing)[0], start) < 1e-4


def test_a_large_group_finds_its_slope_and_intercepts():
    parts = [scores_and_labels(i, 4000, 3, 1.0 + 0.2 * i, [0.3 * i, 0.0, 0.0]) for i in range(3)]
    scores = np.concatenate([part[0] for part in parts], axis=1)
    labels = np.concatenate([part[1] for part in parts])
    starts = [0, 4000, 8000]
    found = fit_random_effects(scores, labels, np.ones(len(labels)), starts)
    for i in range(3):
        matrix, intercepts = found.weights[i][:, :-1], found.weights[i][:, -1]
        seen = softmax((matrix @ scores[:, :500]).T + intercepts, axis=1)
        truth = softmax((1.0 + 0.2 * i) * scores[:, :500].T + [0.3 * i, 0.0, 0.0], axis=1)
        assert np.abs(seen - truth).mean() < 0.02
    assert found.log_evidence.shape == (3,)


def test_precisions_tell_how_much_groups_differ():
    rng = np.random.default_rng(0)
    precisions = {}
    for spread in (0.0, 0.6):
        parts = [
            scores_and_labels(i, 100, 3, 1.0, rng.normal(scale=spread, size=3)) for i in range(30)
        ]
        scores = np.concatenate([part[0] for part in parts], axis=1)
        labels = np.concatenate([part[1] for part in parts])
        found = fit_random_effects(scores, labels, np.ones(3000), list(range(0, 3000, 100)))
        precisions[spread] = found.precisions[2]
    assert precisions[0.0] > 10 * precisions[0.6]
    # The side constraint takes a third of the variance of three intercepts.
    assert 1.0 / 0.6**2 < precisions[0.6] < 3.0 / 0.6**2


def test_many_classes_need_no_matrix_of_all_parameters():
    """With 1000 classes and 5 rows, one Hessian would be 32 MB and its Jacobian 40 MB."""
    k = 1000
    scores, labels = scores_and_labels(0, 5, k)
    tracemalloc.start()
    try:
        found = fit_random_effects(scores, labels, np.ones(5), [0, 2])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.isfinite(found.weights).all()
    # The weights are two matrices of 8 MB.
    assert peak < 60e6
