"""Score tests by draws and by moments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import softmax

from dircal._core.data.chunks import Chunk
from dircal._core.stats.row_blocks import RowBlocks
from dircal._core.stats.score import NullScores, adjust_holm, score_structure, scores_at_identity
from dircal._core.stats.score_moments import score_moments, sums_of_normal_scores


def chunks_of(proba, labels, chunk_rows=None):
    n = len(labels)
    scores = np.log(np.maximum(proba, 1e-15)).T
    return [
        Chunk(
            scores[:, i : i + step],
            labels[i : i + step],
            np.full(len(labels[i : i + step]), 1 / n),
            start=i,
        )
        for step in [chunk_rows or n]
        for i in range(0, n, step)
    ]


def run(proba, labels, n_resamples=200, seed=0, chunk_rows=None):
    n, k = proba.shape
    scores = NullScores(k, RowBlocks(n, seed), n_resamples)
    first, *others = (scores(chunk) for chunk in chunks_of(proba, labels, chunk_rows))
    for more in others:
        first += more
    return scores_at_identity(first, scores.structure, n)


def draw(seed, n, k, sharp=1.0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(k, sharp), n)
    return proba, (np.log(proba) + rng.gumbel(size=proba.shape)).argmax(axis=1)


def naive_statistic(proba, labels, entries):
    """Row by row, with a pseudo-inverse; ``entries`` are those of [W | b] that are tested."""
    k = proba.shape[1]
    gradient, information = np.zeros(k * (k + 1)), np.zeros((k * (k + 1),) * 2)
    for p, y in zip(proba, labels, strict=True):
        t = np.append(np.log(p), 1.0)
        gradient += np.kron(p - np.eye(k)[y], t)
        information += np.kron(np.diag(p) - np.outer(p, p), np.outer(t, t))
    g, H = gradient[entries], information[np.ix_(entries, entries)]
    return g @ np.linalg.pinv(H, rcond=1e-10) @ g


@pytest.mark.parametrize(("n", "k"), [(60, 2), (80, 3), (150, 5)])
def test_the_statistic_by_the_definition(n, k):
    proba, labels = draw(0, n, k, 2.0)
    found = run(proba, labels)
    expected = naive_statistic(proba, labels, np.arange(k * (k + 1)))
    assert found.statistic == pytest.approx(expected, rel=1e-5)
    assert found.freedom == k**2 - 1


def test_many_classes_have_slopes_and_intercepts_only():
    k = 31
    proba, labels = draw(1, 200, k, 2.0)
    found = run(proba, labels)
    diagonal = np.r_[np.arange(k) * (k + 2), np.arange(k) * (k + 1) + k]
    assert found.statistic == pytest.approx(naive_statistic(proba, labels, diagonal), rel=1e-5)
    assert found.freedom == 2 * k - 1
    assert found.pairs is None


def test_draws_have_the_distribution_of_calibrated_rows():
    """With many rows and no extreme probabilities, a chi-square; drawn and true alike."""
    proba, labels = draw(2, 3000, 3, 4.0)
    found = run(proba, labels, n_resamples=1500)
    assert stats.kstest(found.null_sample, stats.chi2(8).cdf).pvalue > 0.001
    again = [draw_again(proba, seed) for seed in range(100)]
    theirs = [run(proba, y, n_resamples=1).statistic for y in again]
    assert stats.ks_2samp(found.null_sample, theirs).pvalue > 0.001


def draw_again(proba, seed):
    rng = np.random.default_rng([9, seed])
    return (np.log(proba) + rng.gumbel(size=proba.shape)).argmax(axis=1)


def test_chunks_add_up():
    # More rows than one block has, so that chunks end within blocks and beyond.
    proba, labels = draw(3, 5000, 4)
    whole, parts = run(proba, labels, 100), run(proba, labels, 100, chunk_rows=1777)
    assert parts.statistic == pytest.approx(whole.statistic, rel=1e-9)
    assert_allclose(parts.classes.pvalues, whole.classes.pvalues, rtol=1e-6)
    assert_allclose(parts.null_sample, whole.null_sample, rtol=1e-9)


def test_a_class_that_is_given_too_much_is_named():
    proba, labels = draw(4, 3000, 4, 3.0)
    said = proba.copy()
    said[:, 2] *= 1.6
    said /= said.sum(axis=1, keepdims=True)
    found = run(said, labels)
    assert found.classes.pvalues.argmin() == 2
    assert found.classes.pvalues[2] < 1e-6


def test_a_pair_that_is_confused_is_named_and_a_temperature_is_none():
    proba, _ = draw(5, 4000, 4, 3.0)
    log_p = np.log(proba)
    rng = np.random.default_rng(0)
    truth = log_p.copy()
    truth[:, 1] += 0.5 * (log_p[:, 3] - log_p[:, 3].mean())
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    found = run(proba, labels)
    pairs = found.pairs.members.tolist()
    assert pairs[found.pairs.pvalues.argmin()] == [1, 3]
    cooler = (0.7 * log_p + rng.gumbel(size=truth.shape)).argmax(axis=1)
    found = run(proba, cooler)
    assert found.classes.pvalues.max() < 0.002
    assert adjust_holm(found.pairs.pvalues).min() > 0.01


def test_group_pvalues_are_uniform_where_nothing_is_wrong():
    proba, _ = draw(6, 800, 3, 3.0)
    classes, pairs = [], []
    for seed in range(150):
        found = run(proba, draw_again(proba, seed), n_resamples=200, seed=seed)
        classes += found.classes.pvalues.tolist()
        pairs += found.pairs.pvalues.tolist()
    for pvalues in (classes, pairs):
        # Those of one set depend on each other: a coarse look is enough.
        assert 0.03 < np.mean(np.array(pvalues) < 0.05) < 0.08
        assert 0.45 < np.mean(pvalues) < 0.55


def test_zeros_ones_and_idle_classes_do_no_harm():
    proba = np.repeat([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], 50, axis=0)
    found = run(proba, np.r_[np.zeros(50, int), np.arange(50) % 2])
    assert np.isfinite(found.statistic)
    assert np.isfinite(found.null_sample).all()
    assert np.isfinite(found.classes.pvalues).all()
    assert np.isfinite(found.pairs.pvalues).all()


def test_holm_by_hand():
    assert_allclose(adjust_holm(np.array([0.03, 0.01, 0.02, 0.9])), [0.06, 0.04, 0.06, 0.9])
    assert_allclose(adjust_holm(np.array([0.5, 0.6])), [1.0, 1.0])


# Normal scores against those of labels that are drawn.


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


def test_moments_add_up_over_chunks():
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
