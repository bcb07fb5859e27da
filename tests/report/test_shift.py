"""The section about what has changed since old rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from dircal import GenerativeParameters, IdentityCalibrator, Report, VectorScaling
from dircal.metrics import log_loss
from dircal.report._shift import _advice
from dircal.shift import PriorShift, recalibrate, shift_report

FAST = {"n_resamples": 100, "random_state": 0}
ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)
EVEN, UNEVEN = [0.4, 0.4, 0.2], [0.1, 0.4, 0.5]


def world(frequencies, n, seed):
    X, y = GenerativeParameters(ALPHA, frequencies).sample(n, seed)
    return y, X


@pytest.fixture(scope="module")
def old():
    return world(EVEN, 1000, 1)


def report_on(y_new, X_new, old, **options):
    options = {"calibrators": VectorScaling(), **FAST, **options}
    return Report.from_predictions(y_new, X_new, y_old=old[0], prob_old=old[1], **options)


@pytest.fixture(scope="module")
def moved(old):
    return report_on(*world(UNEVEN, 1000, 2), old, class_names=["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def blurred(old):
    y, X = world(EVEN, 800, 3)
    noise = np.random.default_rng(0).normal(scale=1.5, size=X.shape)
    return report_on(y, softmax(np.log(X) + noise, axis=1), old, cv=2)


def test_without_old_rows_nothing_is_said(report):
    assert report.summary.shift is None
    assert 'id="shift"' not in report.to_html()


def test_label_shift_is_told_with_what_adapting_brings(moved, old):
    shift = moved.summary.shift
    assert shift.kind == "label"
    assert shift.advice.startswith("Adapt the old map to the new frequencies")
    y_new, X_new = world(UNEVEN, 1000, 2)
    fitted = VectorScaling().fit(old[1], old[0])
    adapted = PriorShift(fitted).adapt(X_new, X_old=old[1], y_old=old[0])
    by_map = {one.map: one.log_loss for one in shift.compared}
    assert by_map["the old map"] == pytest.approx(log_loss(y_new, fitted.predict_proba(X_new)))
    name = "the old map, adapted to new frequencies without labels"
    assert by_map[name] == pytest.approx(log_loss(y_new, adapted.predict_proba(X_new)))
    assert by_map[name] < by_map["the old map"]


def test_findings_are_those_of_a_fitted_map(old):
    """A map that came fitted is the one from before: numbers are those of `shift_report`."""
    y_new, X_new = world(UNEVEN, 1000, 2)
    fitted = VectorScaling().fit(*world(EVEN, 1000, 4)[::-1])
    shift = report_on(y_new, X_new, old, calibrators=fitted).summary.shift
    direct = shift_report(fitted, old[1], old[0], X_new, y_new, n_resamples=100, random_state=0)
    assert shift.kind == direct.kind
    assert shift.pvalues == pytest.approx(direct.pvalues)
    assert shift.n_changed == len(direct.significant)
    assert shift.n_looked_at == len(direct.findings)
    assert [one.new for one in shift.frequencies] == [
        one.new for one in direct.findings if one.aspect == "frequency"
    ]
    # A pair is told by what is said less what happens, as a class is.
    direct_pair = next(one for one in direct.findings if one.aspect == "confusion")
    pair = next(one for one in shift.others if "among rows taken for" in one.what)
    assert (pair.old, pair.new) == (-direct_pair.old, -direct_pair.new)
    assert "came fitted" in shift.cautions[0]


def test_concept_shift_is_told_with_what_recalibration_brings(blurred):
    shift = blurred.summary.shift
    assert shift.kind == "concept"
    assert shift.advice.startswith("Recalibrate the old map")
    [recalibrated] = [one for one in shift.compared if "recalibrated" in one.map]
    before = next(one for one in shift.compared if one.map == "the old map")
    assert recalibrated.log_loss < before.log_loss
    assert "recalibrate(calibrator, X_new, y_new)" in shift.code


def test_the_line_of_code_runs(moved, blurred, old):
    import dircal

    y_new, X_new = world(UNEVEN, 200, 5)
    calibrator = VectorScaling().fit(old[1], old[0])
    room = {"dircal": dircal, "calibrator": calibrator, "X_new": X_new, "y_new": y_new}
    for report in (moved, blurred):
        exec(report.summary.shift.code, room)
    np.testing.assert_array_equal(
        room["recalibrated"].predict_proba(X_new),
        recalibrate(calibrator, X_new, y_new).predict_proba(X_new),
    )


def test_nothing_to_do_where_nothing_has_changed(old):
    shift = report_on(*world(EVEN, 1000, 6), old).summary.shift
    assert shift.kind == "none"
    assert shift.advice == "Nothing needs to be done: keep the old map."
    assert (shift.code, shift.sentences, shift.n_changed) == ("", (), 0)


def test_a_remedy_that_brings_nothing_is_not_praised(moved):
    """With many rows even the smallest shift is found."""
    small = [replace(one, log_loss=0.5) for one in moved.summary.shift.compared]
    assert "which is next to nothing" in _advice("label", small)[0]


def test_a_map_that_never_was_calibrated_is_told_of():
    rows = world(EVEN, 2000, 8)
    shift = report_on(*world(UNEVEN, 2000, 9), rows, calibrators=IdentityCalibrator(), cv=2)
    assert "was not calibrated on the old rows either" in shift.summary.shift.cautions[0]


def test_the_page_says_it_all(moved):
    page, shift = moved.to_html(), moved.summary.shift
    for text in (shift.sentence, shift.advice, *shift.sentences):
        assert text.replace("<", "&lt;").replace(">", "&gt;") in page
    assert 'href="#shift"' in page
    assert "cow is more frequent" in page
    assert page.count('class="track"') == len(shift.findings)


def test_the_code_on_the_page_makes_the_page_again(moved, old):
    code = moved.summary.settings.code.replace('report.to_html("report.html")', "")
    y_new, X_new = world(UNEVEN, 1000, 2)
    room = {"y_true": y_new, "y_prob": X_new, "new_y_prob": X_new[:2]}
    exec(code, {**room, "y_old": old[0], "prob_old": old[1]}, room)
    assert room["report"].to_dict() == moved.to_dict()


def test_logits_and_classes_that_are_absent_from_one_side(old):
    y_new, X_new = world(UNEVEN, 800, 9)
    y_new[y_new == 2] = 1
    shift = report_on(
        y_new,
        np.log(X_new),
        (old[0], np.log(old[1])),
        calibrators=VectorScaling(penalty="l2", input_scale="logit"),
        input_scale="logit",
        classes=[0, 1, 2],
        cv=2,
    ).summary.shift
    assert shift.kind in ("label", "concept")
    gone = [one for one in shift.findings if one.is_frequency and one.what == "2"]
    assert [one.new for one in gone] == [0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prob_old": None}, "`prob_old` is None, but `y_old` is given. Pass old rows and"),
        ({"y_old": None}, "`y_old` is None, but `prob_old` is given"),
        ({"y_old": [3] * 1000}, "`y_old`"),
        ({"prob_old": np.full((1000, 2), 0.5)}, "`prob_old`"),
        ({"sample_weight": np.ones(300)}, "`y_old` is given, and so is `sample_weight`"),
    ],
)
def test_bad_old_rows_are_refused_by_name(old, options, message):
    y_new, X_new = world(UNEVEN, 300, 2)
    arguments = {"y_old": old[0], "prob_old": old[1], **options}
    with pytest.raises(ValueError, match=message):
        Report.from_predictions(y_new, X_new, **arguments, **FAST)
