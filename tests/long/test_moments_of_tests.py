"""Tests from moments: their size, their null samples, and their time beside that of draws."""

import time
from functools import partial

import numpy as np
import pytest
from scipy.special import softmax

from dircal import calibration_test, confidence_interval, score_test
from dircal._core.data.chunks import Chunk
from dircal._core.stats.score import score_structure, scores_at_identity
from dircal._core.stats.score_moments import score_moments, sums_of_normal_scores

N, N_SETS = 4000, 1000


def draw(k, spread, n, rng):
    """True probabilities (k, n)."""
    return softmax(rng.normal(scale=spread, size=(n, k)), axis=1).T


@pytest.mark.parametrize(("k", "spread"), [(3, 1.05), (10, 2.5)])
def test_score_tests_reject_as_often_as_they_say(k, spread, record):
    rejected, n_draws = 0, 199
    for seed in range(N_SETS):
        rng = np.random.default_rng([seed, k, 2])
        truth = draw(k, spread, N, rng)
        y = (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=0)
        moments = score_moments(Chunk(np.log(truth), y, np.full(N, 1.0 / N)))
        sums = sums_of_normal_scores(moments, N, n_draws, rng)
        found = scores_at_identity(sums, score_structure(k), N)
        rejected += np.sum(found.null_sample >= found.statistic) + 1 <= 0.05 * (n_draws + 1)
    share = rejected / N_SETS
    claim = f"5 % score test from moments, calibrated models, k = {k}, n = {N}, {N_SETS} sets"
    # Three standard errors around 5 % of 1000 sets.
    record(claim, f"{share:.1%}", "2.9% to 7.1%")
    assert 0.029 <= share <= 0.071


@pytest.mark.parametrize(("k", "spread"), [(3, 3.0), (10, 3.0), (10, 8.0), (100, 5.0)])
def test_nulls_have_the_mean_of_draws(k, spread, record, use_limits):
    n, rng = 100_000, np.random.default_rng(k)
    truth = draw(k, spread, n, rng)
    y = (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=0)

    def mean():
        test = calibration_test(
            y, truth.T, statistic="classwise_ece", n_resamples=500, random_state=0
        )
        return test.null_sample.mean(), test.source

    by_moments, source = mean()
    assert source == "moments"
    use_limits("ResamplingLimits", min_moment_rows=10**9)
    by_draws, source = mean()
    assert source == "draws"
    off = by_moments / by_draws - 1.0
    claim = f"null mean of classwise_ece, moments over draws less one, k = {k}, spread {spread:g}"
    record(claim, f"{off:+.1%}", "-2% to 2%")
    assert abs(off) <= 0.02


def test_time(record, use_limits):
    """Processor time of the same calls by 1000 draws and from moments, with ten classes."""
    rng = np.random.default_rng(0)
    truth = draw(10, 3.0, 100_000, rng)
    rows, y = truth.T.copy(), (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=0)
    draws = {"n_resamples": 1000, "random_state": 0}
    # Intervals of the classes spend half of their time on reading, checking and binning the rows.
    calls = [
        ("test of classwise_ece", 20.0, partial(calibration_test, statistic="classwise_ece")),
        ("score test", 20.0, score_test),
        ("interval of log_loss", 20.0, partial(confidence_interval, metric="log_loss")),
        ("interval of confidence_ece", 20.0, partial(confidence_interval, metric="confidence_ece")),
        ("interval of classwise_ece", 15.0, partial(confidence_interval, metric="classwise_ece")),
    ]

    def seconds(call):
        start = time.process_time()
        call(y_true=y, y_prob=rows, **draws)
        return time.process_time() - start

    for what, allowed, call in calls:
        by_moments = min(seconds(call) for _ in range(3))
        use_limits("ResamplingLimits", min_moment_rows=10**9)
        ratio = seconds(call) / by_moments
        use_limits("ResamplingLimits", min_moment_rows=100_000)
        claim = f"time of 1000 draws over that of moments, {what}, k = 10, n = 100,000"
        # A busy machine would write another number each time.
        record(claim, "enough" if ratio >= allowed else "less", f"at least {allowed:g}")
        assert ratio >= allowed, (what, ratio)
