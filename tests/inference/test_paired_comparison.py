from functools import partial

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from dircal import confidence_interval, metrics, paired_comparison

METRICS = [
    "accuracy",
    "log_loss",
    "brier_score",
    "confidence_ece",
    "classwise_ece",
    "smooth_ece",
    "debiased_squared_error",
]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.6, 0.6, 0.6], 800)
    return (np.log(P) + rng.gumbel(size=P.shape)).argmax(axis=1), P


def sharpened(P, power):
    Q = P**power
    return Q / Q.sum(axis=1, keepdims=True)


def comparison(metric, y, a, b, **options):
    return paired_comparison(y, a, b, metric, n_resamples=400, random_state=0, **options)


@pytest.mark.parametrize("metric", METRICS)
def test_differences_are_those_of_the_measure(metric, rows):
    y, P = rows
    measure = getattr(metrics, metric)
    found = comparison(metric, y, sharpened(P, 2), P)
    assert found.difference == measure(y, sharpened(P, 2)) - measure(y, P)
    assert found.low <= found.difference <= found.high
    assert found.measure == metric
    assert found.n_samples == 800


@pytest.mark.parametrize("metric", METRICS)
def test_exchanging_both_changes_the_sign(metric, rows):
    y, P = rows
    one, other = (
        comparison(metric, y, P, sharpened(P, 1.5)),
        comparison(metric, y, sharpened(P, 1.5), P),
    )
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    assert one.low == pytest.approx(-other.high, abs=1e-9)
    assert one.high == pytest.approx(-other.low, abs=1e-9)
    assert one.pvalue == pytest.approx(other.pvalue, abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_twice_is_no_difference(metric, rows):
    y, P = rows
    found = comparison(metric, y, P, P)
    assert found.difference == found.low == found.high == 0.0
    assert found.pvalue == pytest.approx(1.0)
    assert "no evidence of a difference" in repr(found)


@pytest.mark.parametrize("metric", [m for m in METRICS if m != "accuracy"])
def test_overconfidence_is_worse(metric, rows):
    y, P = rows
    found = comparison(metric, y, sharpened(P, 3), P)
    assert found.low > 0
    assert found.pvalue < 0.01
    assert "a has more" in repr(found)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("power", [1.02, 1.1, 1.3, 1.6])
def test_pvalues_agree_with_intervals(metric, power, rows):
    y, P = rows
    found = comparison(metric, y, sharpened(P, power), P)
    outside = not found.low <= 0.0 <= found.high
    # Between two draws of 400 both are right.
    assert found.pvalue < 0.056 if outside else found.pvalue > 0.044


def test_pairing_is_sharper_than_two_intervals(rows):
    y, P = rows
    found = comparison("log_loss", y, sharpened(P, 1.3), P)
    single = confidence_interval(y, P, "log_loss", n_resamples=400, random_state=0)
    assert found.high - found.low < 0.5 * (single.high - single.low)


def test_labels_columns_and_options(rows):
    y, P = rows
    Q = sharpened(P, 1.5)
    expected = comparison("classwise_ece", y, Q, P)
    names = np.array(["x", "y", "z"])[y]
    moved = comparison(
        "classwise_ece", names, Q[:, [1, 2, 0]], P[:, [1, 2, 0]], classes=["y", "z", "x"]
    )
    assert moved.low == pytest.approx(expected.low, abs=1e-9)
    summed = comparison(partial(metrics.classwise_ece, aggregate="sum"), y, Q, P)
    assert summed.difference == pytest.approx(3 * expected.difference)
    assert summed.high == pytest.approx(3 * expected.high)


def test_bad_arguments(rows):
    y, P = rows
    with pytest.raises(ValueError, match="which has no interval"):
        comparison("maximum_calibration_error", y, P, P)
    with pytest.raises(ValueError, match="`y_true` has 800 labels, but `prob_b` has 799 rows"):
        comparison("log_loss", y, P, P[1:])
    with pytest.raises(ValueError, match="`level` must be a finite number"):
        comparison("log_loss", y, P, P, level=2)


@pytest.mark.parametrize("name", ["prob_a", "prob_b"])
def test_errors_tell_the_two_apart(rows, name):
    y, P = rows
    bad = P.copy()
    bad[3, 1] = np.nan
    given = {"prob_a": P, "prob_b": P} | {name: bad}
    with pytest.raises(ValueError, match=f"`{name}`"):
        paired_comparison(y, metric="log_loss", **given)


def alike(rng, n=200):
    """Labels, and two predictions that miss their log-chances by as much, in other directions.

    Accurate ones, as of networks: a few rows decide the log-loss, and tails are heavy.
    """
    log_truth = log_softmax(rng.normal(scale=10.5, size=(n, 10)), axis=1)
    y = (log_truth + rng.gumbel(size=log_truth.shape)).argmax(axis=1)
    noise = rng.normal(scale=1.5, size=(2, *log_truth.shape))
    return y, *(softmax(log_truth + one, axis=1) for one in noise)


def test_predictions_alike_are_told_apart_as_often_as_the_level_says():
    pvalues = []
    for seed in range(2000):
        rng = np.random.default_rng([seed, 8])
        y, a, b = alike(rng)
        found = paired_comparison(
            y, a, b, "log_loss", n_resamples=500, random_state=seed, classes=range(10)
        )
        pvalues.append(found.pvalue)
    # The seeds are fixed; more of them are in tests/long.
    assert 0.04 <= np.mean(np.array(pvalues) < 0.05) <= 0.06
    assert 0.005 <= np.mean(np.array(pvalues) < 0.01) <= 0.015


def test_one_row_tells_nothing(rows):
    y, P = rows
    found = comparison("log_loss", y[:1], P[:1], sharpened(P, 2)[:1], classes=range(3))
    assert (found.low, found.high, found.pvalue) == (-np.inf, np.inf, 1.0)


def test_rounding_is_no_difference(rows):
    y, P = rows
    again = P * (1 + 1e-15)
    assert comparison("brier_score", y, P, again / again.sum(axis=1, keepdims=True)).pvalue > 0.9
