"""What a map learned by evidence reads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from dircal._core.bayes.features import MixturePrior
from dircal._core.bayes.state import EvidenceState
from dircal._core.data.array_source import ArraySource
from dircal._core.data.rows import Rows
from dircal._core.model.statistics import curve_statistics
from dircal.maps import CalibrationMap, LogSoftmax

CURVED = np.array([3.0, 6.0, 3.0, 1.0, 8.0, 24.0])


def rows_of(problem):
    read = CalibrationMap(problem.logits.shape[1], (LogSoftmax(),)).read
    return Rows(ArraySource(problem.logits, problem.y, None, read))


def scores_of(rows):
    return rows.fold(lambda chunk: [chunk])[0].scores


@pytest.mark.parametrize("surprise", [0.1, 1.0])
def test_scores_are_mixed_and_statistics_lie_below(surprise, make_problem):
    problem = make_problem(0, n=50, k=3)
    prior = MixturePrior(CURVED, normalised=False, surprise=surprise)
    mixed = prior.around(rows_of(problem), 0.0, 0.8)
    u = surprise / 51.0
    assert_allclose(mixed.uniform_weight, u)
    s = np.log(problem.proba).T
    total = np.log(np.exp(0.8 * s).sum(axis=0))
    whole = np.log((1 - u) * softmax(0.8 * s, axis=0) + u / 3) + total
    means = whole.mean(axis=0)
    factor = min(1.0, np.sqrt(whole.var(axis=0).mean() / (means**2).mean()))
    assert_allclose(mixed.row_mean_factor, factor)
    found = scores_of(mixed.rows).reshape(11, 3, 50)
    assert_allclose(found[0], whole - (1 - factor) * means, rtol=1e-9, atol=1e-12)
    # Curves see the whole of a row.
    assert_allclose(found[1:], curve_statistics(whole), rtol=1e-9, atol=1e-12)
    plain = prior.without_curves().around(rows_of(problem), 0.0, 0.8)
    assert_allclose(scores_of(plain.rows), found[0])


def test_a_diagonal_matrix_reads_whole_rows(make_problem):
    problem = make_problem(0, n=10, k=401)
    for mode in (CURVED, CURVED[:3]):
        mixed = MixturePrior(mode, normalised=False).around(rows_of(problem), 0.0, 0.5)
        assert mixed.row_mean_factor == 1.0
        assert len(scores_of(mixed.rows)) == 401 * (11 if len(mode) > 3 else 1)


def test_co_occurrence_is_that_of_the_temperature_map(make_problem):
    problem = make_problem(0, n=60, k=3)
    prior = MixturePrior(CURVED, normalised=False, surprise=0.1)
    mixed = prior.around(rows_of(problem), 0.0, 0.8)
    coupling = EvidenceState(mixed.rows, mixed.prior, 1e-7, 100).moments_of_centre.coupling
    found = mixed.prior.with_coupling(coupling).co_occurrence
    u = mixed.uniform_weight
    proba = (1 - u) * softmax(0.8 * np.log(problem.proba), axis=1) + u / 3
    together = found[:12].reshape(3, 4)
    off = ~np.eye(3, dtype=bool)
    expected = (proba.T @ proba)[off]
    assert_allclose(together[:, :-1][off] / expected, together[0, 1] / expected[0], rtol=1e-9)
    assert not together[:, -1].any()
    assert not together.diagonal().any()
    assert not found[12:].any()
