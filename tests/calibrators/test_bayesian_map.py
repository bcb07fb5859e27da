"""From what was learned to a map: the same logits, whatever form the parameters had."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal._core.bayes.posterior import ExactPosterior
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal.calibrators._bayesian_map import check_posterior, expected, step_of
from dircal.maps import (
    Affine,
    CalibrationMap,
    Diagonal,
    LogSoftmax,
    Softmax,
    UniformMixture,
    WithCurves,
)


@pytest.mark.parametrize("curved", [True, False])
@pytest.mark.parametrize("k", [3, 30, 401])
def test_the_map_does_to_scores_what_parameters_do_to_rows(k, curved, make_problem):
    problem = make_problem(0, n=20, k=k)
    read = CalibrationMap(k, (LogSoftmax(),)).read
    rows = Rows(ArraySource(problem.logits, problem.y, None, read))
    mixed = expected(k, "learned", curved=curved).around(rows, 0.0, 0.5)
    structure = mixed.prior.structure
    away = np.random.default_rng(0).normal(scale=0.1, size=structure.n_params)
    params = mixed.prior.centre + away
    scores = mixed.rows.fold(lambda chunk: [chunk])[0].scores
    wanted = softmax(structure.logits(params, scores), axis=0).T
    step = step_of(mixed, params)
    assert isinstance(step, WithCurves) == curved
    mixture = UniformMixture(mixed.slope, mixed.uniform_weight, normalised=False)
    found = CalibrationMap(k, (LogSoftmax(), mixture, step, Softmax()))(problem.logits)
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)


def test_what_is_expected():
    learned, fixed = (expected(4, prior, curved=True) for prior in ("learned", "fixed"))
    assert learned.mode.tolist() == [4, 12, 4, 1, 8, 32]
    assert (learned.surprise, fixed.surprise) == (0.1, 1.0)
    assert fixed.mode.tolist() == [8, 24, 8]
    assert fixed.normalised
    assert not fixed.curved
    assert learned.without_curves().mode.tolist() == [4, 12, 4]


def test_posteriors_of_other_maps_are_refused():
    linear = Affine(np.eye(3), np.zeros(3))
    curved = WithCurves(CalibrationMap(3, (linear,)), np.zeros((3, 10)), np.zeros(8))
    shared = WithCurves(CalibrationMap(3, (linear,)), np.zeros((1, 10)), np.zeros(8))
    narrow = Diagonal(np.ones(3), np.zeros(3))
    fine = [(12, linear, None), (34, linear, curved), (22, linear, shared), (6, narrow, None)]
    for n_entries, step, curves in fine:
        check_posterior(ExactPosterior(np.eye(n_entries)), 3, step, curves)
    for n_entries, step, curves in [(34, linear, None), (22, linear, curved), (12, narrow, None)]:
        with pytest.raises(ValueError, match=f"its posterior needs .* entries; got {n_entries}"):
            check_posterior(ExactPosterior(np.eye(n_entries)), 3, step, curves)
