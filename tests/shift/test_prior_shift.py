"""New class frequencies: found in rows without labels, or given."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dircal
from dircal import (
    AutoCalibrator,
    GenerativeParameters,
    IdentityCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    VectorScaling,
)
from dircal.export import to_python
from dircal.metrics import log_loss
from dircal.shift import PriorShift

ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)
OLD, NEW = np.array([0.4, 0.4, 0.2]), np.array([0.05, 0.15, 0.8])


def world(frequencies, n, seed):
    return GenerativeParameters(ALPHA, frequencies).sample(n, seed)


@pytest.fixture(scope="module")
def old():
    return world(OLD, 4000, 0)


@pytest.fixture(scope="module")
def new():
    return world(NEW, 4000, 1)


@pytest.fixture(scope="module")
def fitted(old):
    return VectorScaling().fit(*old)


def test_frequencies_are_found_and_the_loss_falls(fitted, new):
    X, y = new
    adapted = PriorShift(fitted).adapt(X)
    assert_allclose(adapted.priors_, NEW, atol=0.03)
    assert adapted.shift_.pvalue < 1e-6
    assert adapted.shift_.assumption_pvalue is None
    best = log_loss(y, GenerativeParameters(ALPHA, NEW).predict_proba(X))
    assert log_loss(y, adapted.predict_proba(X)) < best + 0.01
    assert log_loss(y, fitted.predict_proba(X)) > best + 0.2


def test_the_step_is_the_formula(fitted, new):
    X, _ = new
    adapted = PriorShift(fitted, priors=NEW).adapt()
    expected = fitted.predict_proba(X) * NEW / adapted.old_priors_
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(adapted.predict_proba(X), expected, rtol=1e-12)
    assert len(adapted.map_.steps) == len(fitted.map_.steps) + 1


def test_old_frequencies_are_those_of_the_fit(fitted, old):
    share = np.bincount(old[1]) / len(old[1])
    for calibrator in (fitted, AutoCalibrator().fit(*old)):
        if getattr(calibrator, "choice_", "") != "identity":
            assert_allclose(PriorShift(calibrator, priors=NEW).adapt().old_priors_, share)
    given = PriorShift(fitted, priors=NEW, old_priors={0: 0.5, 1: 0.25, 2: 0.25}).adapt()
    assert_allclose(given.old_priors_, [0.5, 0.25, 0.25])
    told = PriorShift(IdentityCalibrator().fit(*old), priors=NEW).adapt(X_old=old[0], y_old=old[1])
    assert_allclose(told.old_priors_, share)


def test_what_is_given_stays_as_it_is(fitted, new):
    before = fitted.predict_proba(new[0])
    shift = PriorShift(fitted)
    shift.adapt(new[0])
    assert not hasattr(shift, "classes_")
    assert_array_equal(fitted.predict_proba(new[0]), before)


def test_nothing_moves_where_nothing_has_shifted(fitted):
    X, _ = world(OLD, 300, 5)
    adapted = PriorShift(fitted).adapt(X)
    assert_allclose(adapted.priors_, adapted.old_priors_, atol=0.02)
    assert adapted.shift_.pvalue > 0.05
    assert "may be the same" in str(adapted.explain())


def test_the_assumption_is_checked_where_old_rows_are_known(old, new):
    shift = PriorShift(VectorScaling()).fit(*old)
    assert shift.shift_ is None
    assert_allclose(shift.predict_proba(old[0]), VectorScaling().fit(*old).predict_proba(old[0]))
    fine = shift.adapt(new[0])
    assert fine.shift_.assumption_pvalue > 0.01
    assert not fine.shift_.assumption_fails
    assert "look like a mixture" in str(fine.explain())
    blurred = 0.5 * new[0] + 0.5 / 3
    broken = shift.adapt(blurred)
    assert broken.shift_.assumption_fails
    assert "should not be trusted" in str(broken.explain(blurred))
    prefit = PriorShift(shift.calibrator_).adapt(new[0], X_old=old[0], y_old=old[1])
    assert_allclose(prefit.shift_.assumption_pvalue, fine.shift_.assumption_pvalue)


def test_balanced_training_is_undone_in_one_line():
    q, y = GenerativeParameters([[3.0, 1.0], [1.0, 3.0]], [0.5, 0.5]).sample(3000, 0)
    names = np.array(["fine", "fraud"])
    real = {"fine": 0.99, "fraud": 0.01}
    corrected = PriorShift(VectorScaling(), priors=real).fit(q, names[y])
    X, truth = GenerativeParameters([[3.0, 1.0], [1.0, 3.0]], [0.99, 0.01]).sample(20_000, 1)
    assert abs(corrected.predict_proba(X)[:, 1].mean() - truth.mean()) < 0.002
    assert "fraud: frequency 0.491 before, 0.010 now." in str(corrected.explain())


@pytest.mark.parametrize(
    "inner",
    [VectorScaling(), OneVsRestCalibrator(IsotonicCalibrator()), IdentityCalibrator()],
    ids=lambda inner: type(inner).__name__,
)
def test_files_and_exports_hold_the_whole_map(inner, old, new, tmp_path):
    adapted = PriorShift(inner).fit(*old).adapt(new[0])
    dircal.save(adapted, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert_array_equal(loaded.predict_proba(new[0]), adapted.predict_proba(new[0]))
    assert loaded.shift_.pvalue == adapted.shift_.pvalue
    again = loaded.adapt(old[0][:500])
    assert again.shift_.assumption_pvalue is not None
    module = {}
    exec(to_python(adapted), module)
    rows = new[0][:20]
    assert_allclose(module["predict_proba"](rows.tolist()), adapted.predict_proba(rows), atol=1e-9)


def test_frequencies_by_label_are_saved(fitted, tmp_path):
    adapted = PriorShift(fitted, priors={0: 0.2, 1: 0.3, 2: 0.5}).adapt()
    dircal.save(adapted, tmp_path / "map.json")
    assert_array_equal(dircal.load(tmp_path / "map.json").priors_, [0.2, 0.3, 0.5])


def test_logits_columns_by_name_and_one_column(old, new):
    names = ["a", "b", "c"]
    labels = np.array(names)[old[1]]
    frame = pd.DataFrame(np.log(old[0]), columns=names)
    calibrator = VectorScaling(input_scale="logit").fit(frame, labels)
    adapted = PriorShift(calibrator, priors={"c": 0.8, "a": 0.05, "b": 0.15}).adapt()
    turned = pd.DataFrame(np.log(new[0]), columns=names)[["c", "a", "b"]]
    assert_allclose(adapted.predict_proba(turned), adapted.predict_proba(np.log(new[0])))
    one = IsotonicCalibrator().fit([0.2, 0.8, 0.4, 0.6], [0, 1, 1, 0])
    both = PriorShift(one, priors=[0.9, 0.1], old_priors=[0.5, 0.5]).adapt()
    assert both.predict_proba([0.5]).shape == (1, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priors": [0.5, 0.4, 0.2]}, "`priors` must sum to one; it sums to 1.1"),
        ({"priors": [0.5, 0.5, 0.0]}, "`priors` must be positive; entry 2 is 0"),
        ({"priors": {0: 0.5, 1: 0.5}}, "`priors` lacks the label 2"),
        ({"priors": {0: 0.5, 1: 0.25, 7: 0.25}}, "`priors` names the label 7, which is none of"),
        ({"priors": NEW, "old_priors": [1.0]}, r"`old_priors` must have shape \(3,\)"),
        ({"level": 1.5}, "`level` must be"),
        ({}, "`X_new` is None, and so is `priors`"),
    ],
)
def test_bad_frequencies(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        PriorShift(fitted, **options).adapt()


def test_bad_calibrators_and_rows(fitted, old, new):
    with pytest.raises(ValueError, match="`calibrator` must be fitted; got VectorScaling"):
        PriorShift(VectorScaling()).adapt(new[0])
    with pytest.raises(ValueError, match="`calibrator` must be a calibrator of dircal; got 3"):
        PriorShift(3).adapt(new[0])
    with pytest.raises(ValueError, match="IdentityCalibrator does not remember the frequencies"):
        PriorShift(IdentityCalibrator().fit(*old)).adapt(new[0])
    with pytest.raises(ValueError, match="`y_old` is None, but `X_old` is given"):
        PriorShift(fitted).adapt(new[0], X_old=old[0])
    with pytest.raises(ValueError, match="`X` is empty"):
        PriorShift(fitted).adapt(np.empty((0, 3)))
    with pytest.raises(ValueError, match="holds the label 9, which is not among"):
        PriorShift(fitted).adapt(new[0], X_old=old[0][:2], y_old=[0, 9])


LABELS = {
    "integers": np.arange(3),
    "strings": np.array(["a", "b", "c"]),
    "floats": np.array([0.0, 1.0, 2.0]),
    "dates": np.array([dt.date(2020, 1, i) for i in (1, 2, 3)], dtype=object),
    "bytes": np.array([b"a", b"b", b"c"]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("numpy_keys", [False, True])
def test_frequencies_by_label_are_saved_after_fit(labels, numpy_keys, old):
    keys = [*labels] if numpy_keys else labels.tolist()
    priors = dict(zip(keys, [0.5, 0.3, 0.2], strict=True))
    shift = PriorShift(VectorScaling(), priors=priors, old_priors=priors)
    shift.fit(old[0], labels[old[1]])
    loaded = dircal.io.from_bytes(dircal.io.to_bytes(shift))
    assert loaded.priors == loaded.old_priors == priors
    assert_array_equal(loaded.predict_proba(old[0]), shift.predict_proba(old[0]))
    assert_array_equal(loaded.fit(old[0], labels[old[1]]).priors_, shift.priors_)
