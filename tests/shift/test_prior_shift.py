"""New class frequencies: found in rows without labels, or given."""

import datetime as dt
import warnings
from pathlib import Path

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
    TemperatureScaling,
    VectorScaling,
)
from dircal.exceptions import DircalWarning
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
    assert adapted.shift_.assumption_pvalue > 0.01
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
    # Scores of this world are not calibrated: they are moved to the frequencies first.
    with pytest.warns(DircalWarning, match="Mean probabilities of the old rows differ"):
        told = PriorShift(IdentityCalibrator().fit(*old), priors=NEW).adapt(
            X_old=old[0], y_old=old[1]
        )
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
    with pytest.warns(DircalWarning, match="not a mixture of the old classes .*recalibrate"):
        broken = shift.adapt(blurred)
    assert broken.shift_.assumption_fails
    assert "should not be trusted" in str(broken.explain(blurred))
    # The rows of a fit are counted when it is made, and need not be passed again.
    for old_rows in ({"X_old": old[0], "y_old": old[1]}, {}):
        prefit = PriorShift(shift.calibrator_).adapt(new[0], **old_rows)
        assert_allclose(prefit.shift_.assumption_pvalue, fine.shift_.assumption_pvalue)
        assert_allclose(prefit.shift_.low, fine.shift_.low)


def tilted(X, seed, n=3000):
    """Rows in which the first class looks more probable than the second: no label shift."""
    weight = np.minimum((X[:, 0] / X[:, 1]) ** 1.5, 50.0)
    return X[np.random.default_rng(seed).choice(len(X), n, p=weight / weight.sum())]


def test_other_shifts_cause_a_warning_without_old_rows(tmp_path):
    X, y = world([0.5, 0.3, 0.2], 2000, 0)
    fitted = VectorScaling().fit(X, y)
    dircal.save(fitted, tmp_path / "map.json")
    more = world([0.5, 0.3, 0.2], 20_000, 5)[0]
    for calibrator in (fitted, dircal.load(tmp_path / "map.json")):
        with pytest.warns(DircalWarning, match="more than class frequencies has changed"):
            assert PriorShift(calibrator).adapt(tilted(more, 0)).shift_.assumption_fails
    offset = more[:3000] * [2.5, 1.0, 1.0]
    offset /= offset.sum(axis=1, keepdims=True)
    with pytest.warns(DircalWarning, match="more than class frequencies has changed"):
        PriorShift(fitted).adapt(offset)


def test_a_map_without_intercepts_finds_no_shift_where_there_is_none():
    alpha = np.ones((3, 3)) + np.diag([2.0, 1.0, 0.0])
    (X, y), (X_new, y_new) = (
        GenerativeParameters(alpha, [0.5, 0.3, 0.2]).sample(n, seed)
        for n, seed in ((1000, 0), (3000, 1))
    )
    shift = PriorShift(TemperatureScaling()).fit(X, y)
    with pytest.warns(DircalWarning, match="Mean probabilities of the old rows differ"):
        adapted = shift.adapt(X_new)
    assert adapted.shift_.pvalue > 0.05
    assert adapted.shift_.centring_pvalue < 0.01
    before = log_loss(y_new, shift.predict_proba(X_new))
    assert log_loss(y_new, adapted.predict_proba(X_new)) < before
    with pytest.warns(DircalWarning, match="Mean probabilities of the old rows differ"):
        known = PriorShift(TemperatureScaling(), priors=adapted.old_priors_).fit(X, y)
    assert log_loss(y_new, known.predict_proba(X_new)) < before


def test_intervals_contain_the_uncertainty_of_the_fit():
    """Forty fits to 300 rows: intervals that take the map for exact cover half of them."""
    covered = []
    for seed in range(40):
        fitted = VectorScaling().fit(*world([0.5, 0.3, 0.2], 300, seed))
        new = world([0.2, 0.3, 0.5], 5000, 1000 + seed)[0]
        with warnings.catch_warnings():
            # One in a hundred tests of the assumption warns by chance.
            warnings.simplefilter("ignore", DircalWarning)
            found = PriorShift(fitted).adapt(new).shift_
        covered.append((found.low <= [0.2, 0.3, 0.5]) & (found.high >= [0.2, 0.3, 0.5]))
    assert np.mean(covered) > 0.85


def test_few_or_unknown_old_rows_cause_a_warning(old, new):
    rare = np.flatnonzero(old[1] != 2)[:300], np.flatnonzero(old[1] == 2)[:5]
    rows = np.concatenate(rare)
    with pytest.warns(DircalWarning, match="The rarest class has 5 old rows.* about 20 old rows"):
        PriorShift(VectorScaling().fit(old[0][rows], old[1][rows])).adapt(old[0][rows])
    unknown = PriorShift(IdentityCalibrator().fit(*old), old_priors=OLD)
    with pytest.warns(DircalWarning, match="no old rows with labels are known"):
        assert unknown.adapt(new[0]).shift_.assumption_pvalue is None


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
    with warnings.catch_warnings():
        # Scores of this world are not calibrated, and a map on each class alone leaves much of it.
        warnings.simplefilter("ignore", DircalWarning)
        adapted = PriorShift(inner).fit(*old).adapt(new[0])
    dircal.save(adapted, tmp_path / "map.json")
    loaded = dircal.load(tmp_path / "map.json")
    assert_array_equal(loaded.predict_proba(new[0]), adapted.predict_proba(new[0]))
    assert loaded.shift_.pvalue == adapted.shift_.pvalue
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DircalWarning)
        again = loaded.adapt(old[0][:500])
    assert again.shift_.assumption_pvalue is not None
    module = {}
    exec(to_python(adapted), module)
    rows = new[0][:20]
    assert_allclose(module["predict_proba"](rows.tolist()), adapted.predict_proba(rows), atol=1e-9)


def test_files_from_before_the_cells_load():
    """Version 3 has another table of old rows, which is dropped."""
    loaded = dircal.load(Path(__file__).parents[1] / "data" / "shift" / "version-3.json")
    assert loaded.shift_.assumption_pvalue == pytest.approx(0.4487701)
    assert loaded.shift_.min_class_rows is None
    X, _ = world([0.2, 0.2, 0.6], 300, 1)
    expected = [[0.039551347, 0.00012709473, 0.96032156], [0.20394766, 0.20472169, 0.59133064]]
    assert_allclose(loaded.predict_proba(X[:2]), expected, rtol=1e-6)
    with pytest.warns(DircalWarning, match="no old rows with labels are known"):
        loaded.adapt(X)


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


def test_a_choice_to_change_nothing_counts_its_rows():
    """Calibrated probabilities, of which `AutoCalibrator` makes the identity."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), size=1000)
    q[0] = [0.0, 0.5, 0.5]
    y = (q.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    fitted = AutoCalibrator(input_scale="logit").fit(np.log(np.maximum(q, 1e-9)), y)
    assert fitted.choice_ == "identity"
    for each in (fitted, dircal.io.from_bytes(dircal.io.to_bytes(fitted))):
        found = PriorShift(each).adapt(np.log(np.maximum(q[:500], 1e-9))).shift_
        assert found.min_class_rows == pytest.approx(np.bincount(y).min())
        assert found.assumption_pvalue > 0.01
