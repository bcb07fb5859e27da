import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal._core.clip.grid import GridEvaluation, TemperatureMap
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.objective import Likelihood
from dircal._core.model.structure import Scalar
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
