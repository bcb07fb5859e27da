"""Measures against soft labels: means over the labels that a row may have."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dircal import TemperatureScaling, decide, metrics, shift
from dircal.metrics import RECORDS

# Its unit is the row: annotators of a row are not independent of each other.
BY_ROWS = "debiased_squared_error"
OPTIONS = {
    "class_ece": [{"label": 1}],
    "smooth_ece": [{}, {"over": "classes"}],
    "maximum_calibration_error": [{}, {"over": "classes"}],
    "classwise_ece": [{}, {"strategy": "mass"}],
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 300)
    chances = np.sqrt(proba) / np.sqrt(proba).sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(rng.integers(0, 6), row) for row in chances])
    return counts, proba


def repeated(counts, proba):
    where, labels = np.nonzero(counts)
    times = counts[where, labels]
    return np.repeat(labels, times), np.repeat(proba[where], times, axis=0)


def cases():
    for name in RECORDS:
        for options in OPTIONS.get(name, [{}]):
            yield pytest.param(name, options, id="-".join([name, *map(str, options.values())]))


@pytest.mark.parametrize(("name", "options"), list(cases()))
def test_counts_equal_repeated_rows(name, options, rows):
    measure = RECORDS[name].function
    soft, hard = measure(*rows, **options), measure(*repeated(*rows), **options)
    if name == BY_ROWS:
        assert soft != pytest.approx(hard, rel=1e-3)
    else:
        assert_allclose(soft, hard, rtol=1e-12)


@pytest.mark.parametrize(("name", "options"), list(cases()))
def test_one_hot_equals_labels(name, options, rows):
    _, proba = rows
    y = proba.argmax(axis=1)
    y[::5] = 0
    measure = RECORDS[name].function
    assert measure(np.eye(3)[y], proba, **options) == measure(y, proba, **options)


@pytest.mark.parametrize(("name", "options"), list(cases()))
def test_weights_multiply_counts(name, options, rows):
    counts, proba = rows
    weight = np.random.default_rng(1).integers(0, 3, len(counts))
    measure = RECORDS[name].function
    assert_allclose(
        measure(counts, proba, sample_weight=weight, **options),
        measure(counts * weight[:, None], proba, **options),
        rtol=1e-12,
    )


def test_losses_by_hand():
    p, t = np.array([[0.5, 0.25, 0.25]]), np.array([[0.5, 0.5, 0.0]])
    assert_allclose(metrics.log_loss(t, p), 0.5 * np.log(2) + 0.5 * np.log(4), rtol=1e-15)
    away = [(p[0] - np.eye(3)[j]) @ (p[0] - np.eye(3)[j]) for j in range(2)]
    assert_allclose(metrics.brier_score(t, p), np.mean(away), rtol=1e-15)
    # Its least value is not zero: the squared distance is smaller by what the labels leave open.
    distance = ((p - t) ** 2).sum()
    assert_allclose(metrics.brier_score(t, p) - distance, 1.0 - (t**2).sum(), rtol=1e-14)
    assert metrics.accuracy(t, p) == metrics.error_rate(t, p) == 0.5


def test_soft_labels_that_are_the_predictions_have_no_gap(rows):
    _, proba = rows
    for name in ("confidence_ece", "classwise_ece", "maximum_calibration_error", "smooth_ece"):
        assert RECORDS[name].function(proba, proba) == pytest.approx(0.0, abs=1e-9)
    assert abs(metrics.debiased_squared_error(proba, proba)) < 1e-15


def test_columns_in_another_order(rows):
    counts, proba = rows
    expected = metrics.log_loss(counts, proba)
    order = [2, 0, 1]
    moved = metrics.log_loss(counts[:, order], proba[:, order], classes=["z", "a", "m"])
    assert_allclose(moved, expected, rtol=1e-12)


def test_tables_of_bins(rows):
    for function in (metrics.class_bins, metrics.confidence_bins):
        soft, hard = function(*rows), function(*repeated(*rows))
        assert_allclose(soft.count, hard.count)
        assert_allclose(soft.observed, hard.observed, atol=1e-9)
        assert_allclose(soft.predicted, hard.predicted)


def test_reliability_without_bins(rows):
    soft, hard = metrics.corp_reliability(*rows), metrics.corp_reliability(*repeated(*rows))
    for name in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert_allclose(getattr(soft, name), getattr(hard, name), rtol=1e-9)


@pytest.mark.parametrize("loss", ["log_loss", "brier_score"])
def test_parts_of_a_loss(loss, rows):
    counts, proba = rows
    found = metrics.loss_decomposition(counts, proba, TemperatureScaling(), loss=loss)
    assert_allclose(found.total, RECORDS[loss].function(counts, proba), rtol=1e-12)
    assert_allclose(found.calibration + found.refinement, found.total, rtol=1e-12)


def test_what_needs_one_label_says_so(rows):
    counts, proba = rows
    fitted = TemperatureScaling().fit(proba, counts)
    message = r"holds soft labels.*one label for each row.*argmax"
    with pytest.raises(ValueError, match=message):
        decide.rejection_rule(counts, proba, max_risk=0.1)
    with pytest.raises(ValueError, match=message):
        shift.shift_report(fitted, proba, counts, proba, counts)


def test_a_function_of_the_user_gets_soft_labels(rows):
    from dircal import confidence_interval

    counts, proba = rows
    given = {}

    def mine(y_true, y_prob, *, sample_weight=None, classes=None):
        given.update(y_true=y_true)
        return metrics.log_loss(y_true, y_prob, sample_weight=sample_weight, classes=classes)

    shares = (counts + 1.0) / (counts + 1.0).sum(axis=1, keepdims=True)
    order = [2, 0, 1]
    found = confidence_interval(
        shares[:, order], proba[:, order], mine, classes=["z", "a", "m"], n_resamples=100
    )
    assert_array_equal(given["y_true"], shares[:, order])
    assert_allclose(found.estimate, metrics.log_loss(shares, proba), rtol=1e-12)
