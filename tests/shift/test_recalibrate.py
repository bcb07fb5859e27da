"""Old map and new labels: nothing moves without reason, and everything with many."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dircal
from dircal import AutoCalibrator, GenerativeParameters, IsotonicCalibrator, VectorScaling
from dircal.calibrators import with_fit
from dircal.export import to_python
from dircal.metrics import log_loss
from dircal.shift import RecalibratedCalibrator, recalibrate, recalibrated_map

OLD = GenerativeParameters(np.ones((3, 3)) + 1.5 * np.eye(3), [0.4, 0.4, 0.2])
NEW = GenerativeParameters(np.ones((3, 3)) + 0.7 * np.eye(3), [0.1, 0.2, 0.7])


@pytest.fixture(scope="module")
def old():
    return VectorScaling().fit(*OLD.sample(3000, 0))


@pytest.fixture(scope="module")
def new():
    return NEW.sample(8000, 1)


def test_few_labels_without_a_shift_change_next_to_nothing(old):
    X, y = OLD.sample(3000, 5)
    few = recalibrate(old, X[:10], y[:10])
    loss = log_loss(y, old.predict_proba(X))
    assert log_loss(y, few.predict_proba(X)) < 1.03 * loss
    many = recalibrate(old, X, y)
    assert many.weights_["old"] > 0.9
    assert_allclose(many.predict_proba(X), old.predict_proba(X), atol=0.03)


@pytest.mark.parametrize("n", [10, 30, 100, 300, 1000, 4000])
def test_it_is_as_good_as_the_better_of_old_and_fresh(n, old, new):
    X, y = new
    moved = recalibrate(old, X[:n], y[:n])
    fresh = AutoCalibrator(classes=[0, 1, 2]).fit(X[:n], y[:n])
    test, truth = X[4000:], y[4000:]
    losses = [log_loss(truth, one.predict_proba(test)) for one in (moved, old, fresh)]
    assert losses[0] < 1.03 * min(losses[1:])
    if n >= 1000:
        assert moved.weights_["old"] == 0.0
        assert losses[0] < log_loss(truth, NEW.predict_proba(test)) + 0.01


def with_weights(moved, weights):
    fit = moved.fit_
    details = replace(fit.details, weights=weights)
    return with_fit(
        moved, replace(fit, map=recalibrated_map(fit.members, weights), details=details)
    )


def test_the_mean_is_that_of_the_maps(old, new):
    X, y = new
    moved = recalibrate(old, X[:15], y[:15])
    weights = moved.weights_
    assert list(weights) == ["old", "corrected", "fresh"]
    assert sum(weights.values()) == pytest.approx(1.0)
    moved = with_weights(moved, {"old": 0.5, "corrected": 0.3, "fresh": 0.2})
    before = old.predict_proba(X)
    expected = 0.5 * before + 0.3 * moved.correction_.predict_proba(before)
    expected += 0.2 * moved.fresh_.predict_proba(X)
    assert_allclose(moved.predict_proba(X), expected, rtol=1e-9, atol=1e-12)


def test_files_and_exports_hold_it(old, new, tmp_path):
    X, y = new
    moved = recalibrate(old, X[:15], y[:15])
    moved = with_weights(moved, {"old": 0.5, "corrected": 0.3, "fresh": 0.2})
    dircal.save(moved, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert_array_equal(loaded.predict_proba(X), moved.predict_proba(X))
    module = {}
    exec(to_python(moved), module)
    assert_allclose(module["predict_proba"](X[:9].tolist()), moved.predict_proba(X[:9]), atol=1e-9)
    assert "The old map as it is: 50.0%" in str(loaded.explain(X))


def test_absent_classes_one_column_and_weights(old, new):
    X, y = new
    assert recalibrate(old, X[y == 2][:5], y[y == 2][:5]).predict_proba(X).shape == X.shape
    weight = np.r_[np.ones(50), np.zeros(50)]
    a = recalibrate(old, X[:100], y[:100], sample_weight=weight)
    b = recalibrate(old, X[:50], y[:50])
    assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)
    p = np.random.default_rng(0).random(200)
    labels = (p > np.random.default_rng(1).random(200)).astype(int)
    one = IsotonicCalibrator().fit(p, labels)
    assert recalibrate(one, p[:100], labels[:100]).predict_proba([0.5]).shape == (1, 2)


def test_what_was_stays_as_it_was(old, new):
    before = old.predict_proba(new[0])
    recalibrate(old, new[0][:300], new[1][:300])
    assert_array_equal(old.predict_proba(new[0]), before)


def test_bad_input(old, new):
    X, y = new
    with pytest.raises(ValueError, match="`calibrator` must be fitted; got VectorScaling"):
        recalibrate(VectorScaling(), X, y)
    with pytest.raises(ValueError, match="holds the label 7, which is not among"):
        recalibrate(old, X[:2], [0, 7])
    with pytest.raises(ValueError, match="`classes` must be those that the calibrator"):
        RecalibratedCalibrator(old, classes=[1, 2, 3]).fit(X[:3], [1, 2, 3])
    with pytest.raises(ValueError, match="`X` is empty"):
        recalibrate(old, np.empty((0, 3)), [])


def test_few_labels_without_a_shift_do_little_harm():
    """The sample of twenty labels that moved the map the farthest of a hundred."""
    alpha = np.ones((3, 3)) + 1.5 * np.eye(3)
    rows = GenerativeParameters(alpha, [0.4, 0.4, 0.2])
    old = VectorScaling().fit(*rows.sample(3000, 0))
    X, y = rows.sample(4000, 99)
    moved = recalibrate(old, *rows.sample(20, 1098))
    assert log_loss(y, moved.predict_proba(X)) < log_loss(y, old.predict_proba(X)) + 0.1
