"""Intervals and comparisons with soft labels: rows are drawn, annotators are not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from dircal import (
    TemperatureScaling,
    calibration_test,
    compare,
    confidence_interval,
    equivalence_test,
    metrics,
    paired_comparison,
    score_test,
)
from dircal._core.data.losses import log_losses


def draw(seed, n=200, n_annotators=5):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3), n)
    truth = rng.dirichlet(np.ones(3), n) * 0.5 + proba * 0.5
    return np.array([rng.multinomial(n_annotators, row) for row in truth]), proba


def test_the_interval_of_a_mean_is_that_of_the_rows():
    counts, proba = draw(0)
    found = confidence_interval(counts, proba, "log_loss", random_state=0, n_resamples=4000)
    losses = log_losses(proba.T, None, (counts / 5).T)
    error = losses.std(ddof=1) / np.sqrt(len(losses))
    assert_allclose(found.estimate, losses.mean(), rtol=1e-12)
    assert_allclose(found.high - found.low, 2 * 1.96 * error, rtol=0.1)
    assert found.n_samples == 200
    # Annotators by themselves would seem to be five times as many rows as there are.
    where, labels = np.nonzero(counts)
    times = counts[where, labels]
    apart = confidence_interval(
        np.repeat(labels, times), np.repeat(proba[where], times, axis=0), "log_loss", random_state=0
    )
    assert apart.high - apart.low < 0.9 * (found.high - found.low)


def test_a_difference_is_that_of_the_rows():
    counts, proba = draw(1)
    other = np.sqrt(proba) / np.sqrt(proba).sum(axis=1, keepdims=True)
    found = paired_comparison(counts, proba, other, "brier_score", random_state=0)
    assert found.n_samples == 200
    shares = counts / 5
    expected = metrics.brier_score(shares, proba) - metrics.brier_score(shares, other)
    assert_allclose(found.difference, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.SmallSampleWarning")
def test_rows_without_annotators_are_left_out():
    counts, proba = draw(2)
    counts[::4] = 0
    proba[::4] = np.nan
    found = confidence_interval(counts, proba, "classwise_ece", random_state=0)
    assert found.n_samples == 150
    assert_allclose(found.estimate, metrics.classwise_ece(counts, proba), rtol=1e-12)
    assert equivalence_test(counts, proba, "log_loss", margin=5.0, random_state=0).n_samples == 150


def test_unequal_numbers_of_annotators():
    counts, proba = draw(3)
    counts[0] *= 2
    message = r"has rows with 5 to 10 annotators.*Pass probabilities, `y(_true)? / y"
    for ask in (
        lambda: confidence_interval(counts, proba, "log_loss"),
        lambda: paired_comparison(counts, proba, proba, "log_loss"),
        lambda: compare([TemperatureScaling()], proba, counts),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


@pytest.mark.parametrize("test", [calibration_test, score_test])
def test_labels_drawn_from_predictions_are_hard(test):
    with pytest.raises(ValueError, match="holds soft labels"):
        test(*draw(4))


def test_a_comparison_scores_rows_once():
    counts, proba = draw(5)
    counts[:20] = 0
    table = compare(
        [TemperatureScaling()], proba, counts, measures=["log_loss", "accuracy"], random_state=0
    )
    assert sorted(table.scored) == list(range(20, 200))
    before = [row for row in table if row.calibrator == "uncalibrated"]
    assert_allclose(before[0].value, metrics.log_loss(counts, proba), rtol=1e-12)


def test_a_rival_learns_from_labels():
    counts, proba = draw(6)
    with pytest.raises(ValueError, match=r"`y` holds soft labels.*LogisticRegression"):
        compare([LogisticRegression()], proba, counts)
