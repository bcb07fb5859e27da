"""Normal scores against those of labels that are drawn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import softmax

from dircal._core.data.chunks import Chunk
from dircal._core.stats.row_blocks import RowBlocks
from dircal._core.stats.score import NullScores, score_structure, scores_at_identity
from dircal._core.stats.score_moments import score_moments, sums_of_normal_scores


def chunk_of(n, k, spread, seed=0):
    rng = np.random.default_rng(seed)
    proba = np.maximum(softmax(rng.normal(scale=spread, size=(k, n)), axis=0), 1e-15)
    labels = (np.log(proba) + rng.gumbel(size=proba.shape)).argmax(axis=0)
    return Chunk(np.log(proba / proba.sum(axis=0)), labels, np.full(n, 1.0 / n), start=0)


def naive_fourth(chunk):
    """Fourth cumulants of what a row adds to the score of [W | b], from all its labels."""
    k = len(chunk.scores)
    found = np.zeros((k, k + 1))
    for logs, weight in zip(chunk.scores.T, chunk.weight, strict=True):
        p, t = np.exp(logs), np.append(logs, 1.0)
        added = (p - np.eye(k))[:, :, None] * t
        fourth, square = (np.tensordot(p, added**power, 1) for power in (4, 2))
        found += weight * (fourth - 3.0 * square**2)
    return found


def test_sums_by_the_definition():
    chunk = chunk_of(50, 4, 2.0)
    found = score_moments(chunk)
    assert_allclose(found.fourth, naive_fourth(chunk).ravel(), rtol=1e-9)
    scores = NullScores(4, RowBlocks(50, 0), 100)
    expected = scores(chunk)
    assert_allclose(found.hessian, expected.hessian, rtol=1e-12)
    assert_allclose(found.gradient, expected.gradients[0], rtol=1e-12)


def test_chunks_add_up():
    whole = chunk_of(60, 3, 2.0)
    parts = [
        Chunk(whole.scores[:, part], whole.labels[part], whole.weight[part])
        for part in (slice(0, 25), slice(25, 60))
    ]
    found = score_moments(parts[0])
    found += score_moments(parts[1])
    expected = score_moments(whole)
    for name in ("hessian", "gradient", "fourth"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


@pytest.mark.parametrize(("k", "freedom"), [(2, 3), (4, 15), (31, 61)])
def test_the_statistic_is_a_chi_square(k, freedom):
    chunk = chunk_of(4000, k, 1.0)
    moments = score_moments(chunk)
    sums = sums_of_normal_scores(moments, 4000, 2000, np.random.default_rng(0))
    found = scores_at_identity(sums, score_structure(k), 4000)
    assert found.freedom == freedom
    # One in a thousand sets of draws is as far from it.
    assert stats.kstest(found.null_sample, stats.chi2(freedom).cdf).pvalue > 1e-3


def test_as_labels_that_are_drawn():
    n, k = 4000, 3
    chunk = chunk_of(n, k, 2.0, seed=1)
    normal = sums_of_normal_scores(score_moments(chunk), n, 2000, np.random.default_rng(0))
    drawn = NullScores(k, RowBlocks(n, 0), 2000)(chunk)
    found, expected = (scores_at_identity(one, score_structure(k), n) for one in (normal, drawn))
    assert found.statistic == expected.statistic
    assert stats.ks_2samp(found.null_sample, expected.null_sample).pvalue > 1e-3
    for mine, others in ((found.classes, expected.classes), (found.pairs, expected.pairs)):
        assert_allclose(mine.pvalues, others.pvalues, atol=0.03)


def test_sure_models_are_not_normal():
    n = 4000
    doubtful, sure = (score_moments(chunk_of(n, 3, spread)) for spread in (1.0, 300.0))
    assert doubtful.are_normal(n)
    assert not sure.are_normal(n)
    assert sure.are_normal(1000 * n)


def test_a_class_that_cannot_be():
    """Nothing is known of it, and nothing is asked."""
    n = 4000
    chunk = chunk_of(n, 3, 1.0)
    chunk.scores[2] = np.log(1e-15)
    chunk.labels[chunk.labels == 2] = 0
    moments = score_moments(chunk)
    assert moments.are_normal(n)
    sums = sums_of_normal_scores(moments, n, 500, np.random.default_rng(0))
    found = scores_at_identity(sums, score_structure(3), n)
    # A slope and an intercept for the two others, and the entry for the third, a constant.
    assert found.null_sample.mean() == pytest.approx(3.0, abs=0.4)


def test_a_class_that_may_happen_once():
    chunk = chunk_of(4000, 3, 1.0)
    chunk.scores[2] = np.log(1e-4)
    assert not score_moments(chunk).are_normal(4000)
