"""The floor of probabilities, by likelihood."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.clip.by_likelihood import CLIPS, learn_clip
from dircal._core.clip.grid import GridEvaluation, TemperatureMap
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.data.simplex import TINY
from dircal._core.model.objective import Likelihood, Objective
from dircal._core.model.penalty import no_penalty
from dircal._core.model.structure import Scalar
from dircal._core.optim.temperature import fit_temperature
from dircal._core.stats.paired import paired_difference
from dircal.maps import CalibrationMap, LogProbability, Normalise

READ = CalibrationMap(2, (Normalise(), LogProbability())).read
MAPS = (
    TemperatureMap(0.1, 0.7),
    TemperatureMap(1e-2, 0.5),
    TemperatureMap(1e-9, 0.5),
    TemperatureMap(0.0, 0.5),
)


def losses(proba, y, each):
    scores = each.slope * np.log(np.maximum(proba, each.clip))
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -scores[np.arange(len(y)), y]


def test_one_pass_tells_of_each_map_what_a_pass_of_its_own_would(make_problem):
    problem = make_problem(0, n=500, k=4, scale=4.0)
    weight = np.random.default_rng(0).integers(4, size=500).astype(float)
    # In some chunks all scores are above the clips.
    rows = Rows(ArraySource(problem.proba, problem.y, weight, READ, chunk_rows=3))
    found = GridEvaluation.of(rows, MAPS)
    for each, at in zip(MAPS, found.evaluations, strict=True):
        alone = Likelihood(rows.with_clip(each.clip), Scalar(4))
        expected = alone.evaluate_with_hessian(np.array([each.slope]))
        assert at.loss == pytest.approx(expected.loss, rel=1e-12)
        assert_allclose(at.gradient, expected.gradient, rtol=1e-10)
        assert_allclose(at.hessian, expected.hessian, rtol=1e-10)
        assert at.largest_row_loss == pytest.approx(expected.largest_row_loss)
        assert found.at(each.clip) == (each.slope, at)
    assert found.at(1e-3) is None


def test_paired_differences_are_those_of_the_rows(make_problem):
    problem = make_problem(1, n=500, k=4, scale=4.0)
    weight = np.random.default_rng(1).random(500)
    rows = Rows(ArraySource(problem.proba, problem.y, weight, READ, chunk_rows=70))
    found = GridEvaluation.of(rows, MAPS)
    for one in MAPS:
        for other in MAPS:
            difference = losses(problem.proba, problem.y, one)
            difference -= losses(problem.proba, problem.y, other)
            expected = paired_difference(difference, weight / weight.sum(), 500.0)
            paired = found.paired(one, other, 500.0)
            assert paired.mean == pytest.approx(expected.mean, abs=1e-12)
            assert paired.standard_error == pytest.approx(expected.standard_error, abs=1e-9)
    assert found.paired(MAPS[0], TemperatureMap(0.1, 0.6), 500.0) is None


def rows_of(proba, y, sample_weight=None):
    return Rows(ArraySource(proba, y, sample_weight, READ))


def learned(proba, y, sample_weight=None):
    return learn_clip(rows_of(proba, y, sample_weight), max_iter=50).clip


@pytest.fixture
def counts():
    """Shares of 20 votes: zeros are small samples, and are wrong now and then."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(5, 0.3), size=1500)
    proba = np.array([rng.multinomial(20, row) for row in truth]) / 20
    y = np.array([rng.choice(5, p=row) for row in truth])
    return proba, y


def test_grid_goes_down_to_the_value_of_the_paper():
    assert CLIPS[-1] == TINY == np.finfo(float).tiny
    assert list(CLIPS) == sorted(CLIPS, reverse=True)
    assert CLIPS[0] == 3e-2


def test_without_small_values_the_smallest_clip_is_kept(vectors):
    assert vectors.proba.min() > 1e-3
    assert learned(vectors.proba, vectors.y) == TINY


def test_honest_small_values_are_kept(make_problem):
    # The labels follow the probabilities: even the smallest mean what they say.
    rng = np.random.default_rng(1)
    proba = make_problem(1, n=4000, k=4, scale=12.0).proba
    y = (np.log(proba) + rng.gumbel(size=proba.shape)).argmax(axis=1)
    assert proba.min() < 1e-15
    assert learned(proba, y) <= 1e-9


def test_zeros_that_are_sometimes_wrong_are_lifted(counts):
    proba, y = counts
    hits = (proba[np.arange(len(y)), y] == 0).mean()
    assert 0.0 < hits < 0.2
    clip = learned(proba, y)
    assert clip >= 1e-3
    rows = rows_of(proba, y)

    def loss(value):
        return fit_temperature(rows.with_clip(value), tol=1e-10, max_iter=50).solution.loss

    assert loss(clip) < 0.9 * loss(1e-12) < loss(TINY)


def test_zeros_that_were_never_wrong_are_not_called_impossible(counts):
    proba, y = counts
    kept = proba[np.arange(len(y)), y] > 0
    assert learned(proba[kept][:200], y[kept][:200]) > 1e-15


def test_integer_weights_count_like_copies(counts):
    proba, y = (part[:300] for part in counts)
    weight = np.random.default_rng(3).integers(0, 4, len(y))
    repeated = learned(np.repeat(proba, weight, axis=0), np.repeat(y, weight))
    assert learned(proba, y, weight.astype(float)) == repeated


def test_weights_that_are_shares_of_one(counts):
    proba, y = counts
    shares = np.full(len(y), 1.0 / len(y))
    assert learned(proba, y, shares) == learned(proba, y)


def test_clips_above_one_over_k_are_not_tried():
    # 40 classes: 3e-2 exceeds 1/40. One class in a row has everything, and is wrong half the time.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 40, 400)
    guess = np.where(rng.random(400) < 0.5, y, (y + 1) % 40)
    assert learned(np.eye(40)[guess], y) <= 1 / 40


def test_slope_and_passes_are_those_of_the_chosen_clip(counts):
    proba, y = counts
    rows = rows_of(proba, y)
    result = learn_clip(rows, max_iter=50)
    objective = Objective(Likelihood(rows.with_clip(result.clip), Scalar(5)), no_penalty(5))
    best = fit_temperature(rows.with_clip(result.clip), tol=1e-12, max_iter=50)
    near = objective.evaluate(np.array([result.slope])).loss
    assert near - best.solution.loss < 0.01 * best.solution.loss
    assert 0 < result.n_passes <= 25


def test_paired_difference_is_the_textbook_one():
    rng = np.random.default_rng(0)
    a, b = rng.random(30), rng.random(30)
    for share in (None, np.full(30, 1 / 30)):
        result = paired_difference(a - b, share, 30.0)
        assert result.mean == pytest.approx((a - b).mean())
        assert result.standard_error == pytest.approx((a - b).std(ddof=1) / np.sqrt(30))


def test_one_row_has_no_standard_error():
    assert paired_difference(np.ones(1), None, 1.0).standard_error == np.inf


def test_many_rows_start_from_the_slope_of_a_few(make_problem, monkeypatch):
    problem = make_problem(5, n=20_000, k=3, scale=6.0)
    rows = rows_of(problem.proba, problem.y)
    guessed = learn_clip(rows, max_iter=50)
    monkeypatch.setattr(Rows, "subsample", lambda self: None)
    plain = learn_clip(rows, max_iter=50)
    assert guessed.clip == plain.clip
    assert guessed.slope == pytest.approx(plain.slope, rel=2e-2)
    assert guessed.n_passes < plain.n_passes
