"""The logistic objective is the general one for two classes, in fewer numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.logistic import LogisticObjective, log_odds
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import no_penalty
from dircal._core.model.structure import Full, Scalar
from dircal._core.optim.newton import Status, minimise
from dircal._core.optim.temperature import fit_temperature
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read

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
