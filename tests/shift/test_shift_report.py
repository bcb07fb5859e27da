"""What has changed, and of what kind it is."""

import json

import numpy as np
import pytest
from scipy.special import softmax

from dircal import GenerativeParameters, IdentityCalibrator, VectorScaling
from dircal.shift import shift_report

ANIMALS = np.array(["ant", "bee", "cow"])
ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)


def world(frequencies, n, seed, alpha=ALPHA):
    X, y = GenerativeParameters(alpha, frequencies).sample(n, seed)
    return X, ANIMALS[y]


@pytest.fixture(scope="module")
def calibrator():
    return VectorScaling().fit(*world([0.4, 0.4, 0.2], 4000, 0))


@pytest.fixture(scope="module")
def old():
    return world([0.4, 0.4, 0.2], 2000, 1)


def test_nothing(calibrator, old):
    report = shift_report(calibrator, *old, *world([0.4, 0.4, 0.2], 2000, 2))
    assert report.kind == "none"
    assert report.significant == ()
    assert report.sentences() == ["Nothing has shifted that these rows could show."]


def test_label_shift(calibrator, old):
    report = shift_report(calibrator, *old, *world([0.1, 0.4, 0.5], 2000, 2))
    assert report.kind == "label"
    told = str(report)
    assert "Use PriorShift" in told
    assert "cow is more frequent: " in told
    assert json.loads(json.dumps(report.to_dict()))["kind"] == "label"


def test_covariate_shift():
    rng = np.random.default_rng(0)
    rows = []
    for concentration in (0.3, 3.0):
        q = rng.dirichlet(np.full(3, concentration), 2000)
        rows += [q, ANIMALS[(q.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)]]
    identity = IdentityCalibrator().fit(*rows[:2])
    assert shift_report(identity, *rows).kind == "covariate"


def test_concept_shift_is_told_by_sharpness_and_pairs(calibrator, old):
    X, y = world([0.4, 0.4, 0.2], 2000, 2)
    rng = np.random.default_rng(3)
    swapped = np.where((y == "bee") & (rng.random(2000) < 0.5), "cow", y)
    report = shift_report(calibrator, *old, X, swapped)
    assert report.kind == "concept"
    pairs = {one.labels for one in report.significant if one.aspect == "confusion"}
    assert ("bee", "cow") in pairs
    assert "Rows taken for bee are more often cow than said" in str(report)
    sharp = softmax(2.5 * np.log(X), axis=1)
    report = shift_report(calibrator, *old, sharp, y)
    assert report.findings[0].aspect == "sharpness"
    assert "too sure" in report.findings[0].sentence()


def test_adjusted_p_values_are_those_of_holm(calibrator, old):
    report = shift_report(calibrator, *old, *world([0.3, 0.4, 0.3], 300, 4))
    raw = [one.pvalue for one in report.findings]
    assert raw == sorted(raw)
    n, largest = len(raw), 0.0
    for i, one in enumerate(report.findings):
        largest = max(largest, (n - i) * one.pvalue)
        assert one.adjusted == pytest.approx(min(1.0, largest))


def test_findings_are_rare_where_nothing_has_changed(calibrator):
    """Forty reports at level 0.05: two with a finding are expected at most, on average."""
    told = 0
    for seed in range(50, 90):
        pair = [world([0.4, 0.4, 0.2], 400, 2 * seed + i) for i in range(2)]
        report = shift_report(calibrator, *pair[0], *pair[1], n_resamples=100)
        told += bool(report.significant)
    assert told <= 6


def test_options_are_heeded(calibrator, old):
    new = world([0.35, 0.4, 0.25], 1000, 5)
    strict = shift_report(calibrator, *old, *new, level=1e-6, n_resamples=199)
    loose = shift_report(calibrator, *old, *new, level=0.5, n_resamples=199)
    assert len(strict.significant) < len(loose.significant)
    seeds = [
        shift_report(calibrator, *old, *new, random_state=seed, n_resamples=199).pvalues
        for seed in (0, 0, 1)
    ]
    assert seeds[0] == seeds[1]
    assert seeds[0] != seeds[2]


def test_bad_input(calibrator, old):
    with pytest.raises(ValueError, match="`calibrator` must be fitted"):
        shift_report(VectorScaling(), *old, *old)
    with pytest.raises(ValueError, match="holds the label 'emu', which is not among"):
        shift_report(calibrator, *old, old[0][:2], ["ant", "emu"])
    with pytest.raises(ValueError, match="`level` must"):
        shift_report(calibrator, *old, *old, level=2.0)
    with pytest.raises(ValueError, match="`X` is empty"):
        shift_report(calibrator, *old, np.empty((0, 3)), [])


def test_what_was_wrong_before_is_no_shift():
    """Probabilities that are as far off as they were have not shifted."""
    before, after = (world([0.4, 0.4, 0.2], 3000, seed) for seed in (5, 6))
    as_they_are = IdentityCalibrator().fit(*before)
    report = shift_report(as_they_are, *before, *after)
    assert report.pvalues["calibration"] < 0.01
    assert report.pvalues["calibration_before"] < 0.01
    assert report.kind == "none"


def test_what_is_off_before_and_now_is_no_shift():
    """A map of 500 rows is a little off on all rows, and is rejected on new ones by chance."""
    kinds = []
    for seed in range(20):
        fitted = VectorScaling().fit(*world([0.5, 0.3, 0.2], 500, seed))
        pair = [world([0.5, 0.3, 0.2], 1000, 5000 * i + seed) for i in (1, 2)]
        report = shift_report(fitted, *pair[0], *pair[1], n_resamples=100)
        assert (report.pvalues["change"] < 0.05) == any(
            one.aspect != "frequency" for one in report.significant
        )
        kinds.append(report.kind)
    assert kinds.count("none") >= 19


def test_label_shift_is_found_by_a_map_that_is_a_little_off():
    kinds = []
    for seed in range(10):
        fitted = VectorScaling().fit(*world([0.5, 0.3, 0.2], 500, seed))
        pair = [world([0.5, 0.3, 0.2], 1000, 100 + seed), world([0.2, 0.3, 0.5], 1000, 200 + seed)]
        kinds.append(shift_report(fitted, *pair[0], *pair[1], n_resamples=100).kind)
    assert kinds.count("label") >= 9
