"""The numbers of a report are those of direct calls, and of rows that the maps have not seen."""

import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from dircal import (
    AutoCalibrator,
    BayesianDirichletCalibrator,
    BetaCalibrator,
    CalibratorCV,
    DirichletCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    Report,
    TemperatureScaling,
    VectorScaling,
    calibration_test,
    compare,
    metrics,
    score_test,
)
from dircal.exceptions import GridEdgeWarning
from dircal.plots import ClasswiseReliabilityDisplay, ConfusionChangeDisplay, ReliabilityDisplay

FAST = {"n_resamples": 100}


@pytest.fixture(scope="module")
def comparison(problem):
    maps = [TemperatureScaling(), BayesianDirichletCalibrator()]
    return compare(maps, problem.proba, problem.y, n_resamples=200, random_state=0)


def test_measures_are_those_of_a_comparison(report, comparison):
    for method in report.summary.methods:
        for ours in method.measures:
            theirs = comparison.row(method.name, ours.measure)
            assert ours.value == theirs.value
            if ours.measure != "maximum_calibration_error" and method.role != "uncalibrated":
                assert ours.difference == theirs.difference
                # Other measures take part in the drawing there, so the draws are the same rows.
                assert_allclose([ours.low, ours.high], [theirs.low, theirs.high], rtol=1e-12)
                assert ours.pvalue == theirs.pvalue


def test_tests_are_those_of_direct_calls(report, comparison, problem):
    y = problem.y[comparison.scored]
    for method in report.summary.methods:
        proba = comparison.probabilities[method.name]
        for test in method.tests:
            direct = calibration_test(
                y, proba, statistic=test.measure, n_resamples=200, random_state=0
            )
            assert (test.statistic, test.pvalue) == (direct.statistic, direct.pvalue)
            assert test.expected == direct.null_sample.mean()
        assert_allclose(method.confidence, proba.max(axis=1).mean(), rtol=1e-12)
        assert_allclose(method.accuracy, metrics.accuracy(y, proba), rtol=1e-12)
    score = score_test(y, comparison.probabilities["uncalibrated"], n_resamples=200, random_state=0)
    assert report.summary.score.pvalue == score.pvalue
    assert [name for name, _ in report.summary.score.classes] == [str(c) for c in score.classes]


def test_diagrams_are_those_of_the_pictures(report, comparison, problem):
    y = problem.y[comparison.scored]
    for method in report.summary.methods:
        frame = ReliabilityDisplay.from_predictions(
            y, comparison.probabilities[method.name]
        ).to_frame()
        for ours, theirs in (("count", "count"), ("observed", "frequency"), ("low", "low")):
            assert [getattr(one, ours) for one in method.diagram.bins] == frame[theirs].to_list()
    before = ClasswiseReliabilityDisplay.from_predictions(
        y, comparison.probabilities["uncalibrated"]
    )
    for one, curve in zip(report.summary.classes, before.curves, strict=True):
        assert one.error_before == curve.error
        assert [b.predicted for b in one.before.bins] == curve.mean_predicted[
            curve.count > 0
        ].tolist()


def test_classes_and_changes_are_counted(report, comparison, problem):
    y = problem.y[comparison.scored]
    before = comparison.probabilities["uncalibrated"]
    after = comparison.probabilities[report.summary.chosen]
    for j, one in enumerate(report.summary.classes):
        own = y == j
        assert one.count == own.sum()
        assert_allclose(one.mean_after, after[:, j].mean(), rtol=1e-12)
        assert_allclose(one.recall_after, (after[own].argmax(axis=1) == j).mean(), rtol=1e-12)
        assert_allclose(one.error_after, metrics.class_ece(y, after, label=j), rtol=1e-12)
    changes = report.summary.changes
    old, new = before.argmax(axis=1), after.argmax(axis=1)
    assert changes.flipped == (old != new).sum() > 0
    assert changes.fixed == ((old != y) & (new == y)).sum()
    assert changes.spoiled == ((old == y) & (new != y)).sum()
    display = ConfusionChangeDisplay.from_predictions(y, before, after)
    assert_allclose(changes.confusion_change, display.change)
    for one in (*changes.confusions_fixed, *changes.confusions_created):
        assert one.true != one.called
        assert one.before == ((y == int(one.true)) & (old == int(one.called))).sum()
    assert all(one.after < one.before for one in changes.confusions_fixed)
    assert all(one.after > one.before for one in changes.confusions_created)


def test_examples_are_rows_of_the_user(report, comparison, problem):
    where = {int(row): i for i, row in enumerate(comparison.scored)}
    assert len(report.summary.changes.examples) >= 4
    for example in report.summary.changes.examples:
        after = comparison.probabilities[report.summary.chosen][where[example.row]]
        for share in example.shares:
            j = int(share.name)
            assert share.is_true == (problem.y[example.row] == j)
            assert_allclose(share.before, problem.proba[example.row, j], rtol=1e-12)
            assert share.after == after[j]
        assert_allclose(sum(one.after for one in example.shares) + example.rest_after, 1.0)


def test_after_is_out_of_fold_and_the_map_is_of_all_rows(problem):
    # Isotonic steps learn the labels of their rows by heart; out of fold that does not help.
    rows = slice(0, 80)
    y, proba = problem.y[rows], problem.proba[rows]
    learned = OneVsRestCalibrator(IsotonicCalibrator())
    honest = Report.from_predictions(y, proba, calibrators=learned, **FAST).summary.after
    seen = Report.from_predictions(
        y, proba, calibrators=OneVsRestCalibrator(IsotonicCalibrator()).fit(proba, y), **FAST
    ).summary.after
    assert (honest.role, seen.role) == ("cross-fitted", "fitted")
    assert seen.measure("brier_score").value < 0.9 * honest.measure("brier_score").value

    one = Report.from_predictions(y, proba, calibrators=DirichletCalibrator(), **FAST)
    fitted = DirichletCalibrator().fit(proba, y)
    assert_allclose(one.summary.map.matrix, fitted.canonical_parameters().A)
    assert_allclose(one.summary.map.centre, fitted.canonical_parameters().c)
    assert list(one.summary.map.sentences) == fitted.explain().sentences()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "It has curves"),
        ({"prior": "fixed"}, "normalised"),
    ],
)
def test_a_map_without_a_matrix_says_why(problem, options, reason):
    calibrator = BayesianDirichletCalibrator(**options)
    summary = Report.from_predictions(problem.y, problem.proba, calibrators=calibrator, **FAST)
    assert summary.summary.map.matrix is None
    assert reason in summary.summary.map.why_not
    assert summary.summary.map.sentences


def test_fitted_calibrators_are_taken_as_they_are_and_the_page_warns(problem):
    fitted = TemperatureScaling().fit(problem.proba[:300], problem.y[:300])
    report = Report.from_predictions(
        problem.y[300:],
        problem.proba[300:],
        calibrators={"mine": fitted, "fresh": TemperatureScaling()},
        **FAST,
    )
    mine = report.summary.method("mine")
    direct = metrics.log_loss(problem.y[300:], fitted.predict_proba(problem.proba[300:]))
    assert_allclose(mine.measure("log_loss").value, direct, rtol=1e-12)
    assert any("mine came fitted" in one for one in report.summary.verdict.cautions)
    assert not any("fresh" in one for one in report.summary.verdict.cautions[:1])
    assert "as fitted" in report.summary.settings.code
    page = Report(replace(report.summary, chosen="fresh")).to_html()
    assert "Every number after fresh is out of fold" in page, "that of mine is not"


def test_everything_can_be_written_as_json(report, report_of_many, hostile_report):
    for one in (report, report_of_many, hostile_report):
        data = one.to_dict()
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert data["verdict"]["sentence"] in repr(one)


def test_the_same_rows_give_the_same_page(report, problem, tmp_path):
    from dircal import BayesianDirichletCalibrator

    maps = [TemperatureScaling(), BayesianDirichletCalibrator()]
    again = Report.from_predictions(
        problem.y, problem.proba, calibrators=maps, n_resamples=200, random_state=0
    )
    page = report.to_html(tmp_path / "a.html")
    assert page == again.to_html(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_bytes() == page.encode() == (tmp_path / "b.html").read_bytes()
    other = Report.from_predictions(
        problem.y, problem.proba, calibrators=maps, n_resamples=200, random_state=1
    )
    assert other.to_dict()["methods"] != report.to_dict()["methods"]


def test_fingerprints_can_be_computed_by_hand(problem):
    weight = np.arange(1.0, 601.0)
    names = np.array(["ä", "b", "c", "d"])[problem.y]
    report = Report.from_predictions(
        names,
        problem.proba.astype(np.float32),
        classes=["ä", "b", "c", "d"],
        sample_weight=weight,
        calibrators=TemperatureScaling(),
        **FAST,
    )
    data = report.summary.data
    scores = np.ascontiguousarray(problem.proba.astype(np.float32), "<f8")
    assert data.sha256_scores == hashlib.sha256(scores).hexdigest()
    assert data.sha256_labels == hashlib.sha256("\n".join(names).encode()).hexdigest()
    assert data.sha256_weights == hashlib.sha256(weight).hexdigest()
    assert data.weight == weight.sum()
    assert data.dtype == "float32"


def test_the_code_on_the_page_makes_the_page_again(problem):
    report = Report.from_predictions(
        problem.y, problem.proba, calibrators=DirichletCalibrator(lam=0.01), **FAST
    )
    code = report.summary.settings.code.replace('report.to_html("report.html")', "")
    room = {"y_true": problem.y, "y_prob": problem.proba, "new_y_prob": problem.proba[:2]}
    exec(code, room)
    assert room["report"].to_html() == report.to_html()
    assert room["calibrated"].shape == (2, 4)


@pytest.mark.filterwarnings("ignore::dircal.exceptions.GridEdgeWarning")
def test_the_code_on_the_page_has_every_argument(problem):
    names = np.array(["dog", "cat", "bird", "ant"])
    grid = {"lam": np.logspace(-3, 0, 3), "mu": [np.float64(0.1)]}
    report = Report.from_predictions(
        names[problem.y],
        problem.proba,
        calibrators=CalibratorCV(DirichletCalibrator(), grid),
        classes=names,
        class_names={name: name.upper() for name in names.tolist()},
        cv=np.int64(2),
        title="It's a title",
        source="a file",
        **FAST,
    )
    code = report.summary.settings.code.replace('report.to_html("report.html")', "")
    room = {"y_true": names[problem.y], "y_prob": problem.proba, "new_y_prob": problem.proba[:2]}
    exec(code, room)
    assert room["report"].to_dict() == report.to_dict()


@pytest.mark.parametrize(
    "calibrator",
    [
        TemperatureScaling(),
        OneVsRestCalibrator(IsotonicCalibrator()),
        CalibratorCV(VectorScaling(penalty="l2"), {"lam": [1e-3]}),
        TemperatureScaling(classes=["dog", "cat", "bird", "ant"]),
    ],
    ids=["plain", "one against the rest", "search", "told already"],
)
def test_the_map_of_the_code_has_the_classes(problem, calibrator):
    names = np.array(["dog", "cat", "bird", "ant"])
    report = Report.from_predictions(
        names[problem.y], problem.proba, calibrators=calibrator, classes=names, **FAST
    )
    code = report.summary.settings.code
    last = code[code.index("calibrator = ") :]
    assert "classes=['dog', 'cat', 'bird', 'ant']" in last
    room = {"y_true": names[problem.y], "y_prob": problem.proba, "new_y_prob": problem.proba}
    exec(code.replace('report.to_html("report.html")', ""), room)
    assert room["calibrator"].column_classes_.tolist() == names.tolist()
    before = metrics.log_loss(names[problem.y], problem.proba, classes=names)
    assert metrics.log_loss(names[problem.y], room["calibrated"]) <= before


def test_weights_count_and_take_intervals_away(problem):
    weight = np.random.default_rng(0).integers(0, 3, len(problem.y)).astype(float)
    ones = Report.from_predictions(
        problem.y,
        problem.proba,
        sample_weight=weight,
        calibrators=TemperatureScaling(),
        **FAST,
    ).summary
    direct = metrics.classwise_ece(problem.y, problem.proba, sample_weight=weight)
    assert_allclose(ones.before.measure("classwise_ece").value, direct, rtol=1e-9)
    assert ones.data.n_scored == (weight > 0).sum()
    assert ones.before.tests == ()
    assert ones.score is None
    assert ones.before.measure("log_loss").low is None
    assert ones.before.diagram.bins[0].low is None
    assert (ones.verdict.fault, ones.verdict.effect) == ("not tested", "not tested")
    assert any("weights" in one for one in ones.verdict.cautions)
    assert_allclose(sum(one.count for one in ones.classes), weight.sum())


@pytest.mark.parametrize("k", [2, 3, 40])
def test_any_number_of_classes_and_fewer_rows(make_problem, k):
    problem = make_problem(0, n=30, k=k)
    rng = np.random.default_rng(0)
    y = np.where(rng.random(30) < 0.5, problem.proba[:, :2].argmax(axis=1), rng.integers(0, 2, 30))
    report = Report.from_predictions(
        y, problem.proba, classes=np.arange(k), calibrators=TemperatureScaling(), **FAST
    )
    assert len(report.summary.classes) == k
    assert len(report.summary.data.absent) == k - 2
    page = report.to_html()
    # Twenty classes in full, the others in a table behind a fold.
    assert len(re.findall('class="panel[ "]', page)) == min(k, 20)
    assert ("The other 20 classes" in page) == (k == 40)
    assert page.count('scope="row" data-value') == k


def test_zeros_strings_and_columns_in_another_order(problem):
    names = np.array(["dog", "cat", "bird", "ant"])
    proba = np.where(problem.proba < 0.02, 0.0, problem.proba)
    proba /= proba.sum(axis=1, keepdims=True)
    report = Report.from_predictions(
        names[problem.y], proba, classes=names, calibrators=TemperatureScaling(), **FAST
    )
    assert report.summary.class_names == ("ant", "bird", "cat", "dog")
    direct = metrics.log_loss(names[problem.y], proba, classes=names)
    assert_allclose(report.summary.before.measure("log_loss").value, direct, rtol=1e-9)


def test_calibrators_that_were_told_the_columns_are_believed(problem):
    names = np.array(["dog", "cat", "bird", "ant"])
    told = TemperatureScaling(classes=names)
    report = Report.from_predictions(names[problem.y], problem.proba, calibrators=told, **FAST)
    direct = metrics.log_loss(names[problem.y], problem.proba, classes=names)
    assert_allclose(report.summary.before.measure("log_loss").value, direct, rtol=1e-9)
    with pytest.raises(ValueError, match="must name the columns as"):
        Report.from_predictions(
            names[problem.y], problem.proba, calibrators=told, classes=names[::-1]
        )


def test_logits(problem):
    scaled = TemperatureScaling(input_scale="logit")
    report = Report.from_predictions(
        problem.y, problem.logits, calibrators=scaled, input_scale="logit", **FAST
    )
    direct = metrics.log_loss(problem.y, problem.proba)
    assert_allclose(report.summary.before.measure("log_loss").value, direct, rtol=1e-9)
    assert "input_scale='logit'" in report.summary.settings.code


def test_the_default_is_the_automatic_choice(problem):
    report = Report.from_predictions(problem.y, problem.proba, **FAST)
    assert report.summary.chosen == "AutoCalibrator"
    fitted = AutoCalibrator().fit(problem.proba, problem.y)
    name = type(fitted.calibrator_).__name__
    assert report.summary.map.calibrator == f"{name}, by AutoCalibrator"
    page = Report.from_predictions(problem.y, problem.proba, calibrators=fitted, **FAST).to_html()
    assert f"the most probable is the {fitted.choice_} one, with " in page
    by_folds = AutoCalibrator(cv=3).fit(problem.proba, problem.y)
    page = Report.from_predictions(problem.y, problem.proba, calibrators=by_folds, **FAST).to_html()
    assert f"It chose {by_folds.choice_}." in page


@pytest.mark.parametrize(
    ("calibrator", "why"),
    [
        (IdentityCalibrator(), "stay as they are"),
        (OneVsRestCalibrator(BetaCalibrator()), "no linear map"),
        (CalibratorCV(DirichletCalibrator(), {"penalty": ["odir", "l2"]}), "average"),
    ],
    ids=["identity", "one_vs_rest", "average"],
)
def test_maps_outside_of_the_family_say_why_they_have_no_matrix(problem, calibrator, why):
    summary = Report.from_predictions(
        problem.y, problem.proba, calibrators=calibrator, **FAST
    ).summary
    assert summary.map.matrix is None
    assert why in summary.map.why_not


def test_what_fits_complain_about_is_on_the_page(problem):
    search = CalibratorCV(DirichletCalibrator(), {"lam": [1e-4, 1.0]}, combine="refit")
    with pytest.warns(GridEdgeWarning, match="CalibratorCV chose lam"):
        report = Report.from_predictions(problem.y, problem.proba, calibrators=search, **FAST)
    assert any("CalibratorCV chose lam" in one for one in report.summary.verdict.cautions)


def test_folds_of_the_user(problem):
    pair = (np.arange(300), np.arange(300, 600))
    page = Report.from_predictions(
        problem.y, problem.proba, cv=[pair], calibrators=TemperatureScaling(), **FAST
    )
    one = page.summary
    assert one.data.n_scored == 300
    assert f"300 of {len(problem.y)} rows" in page.to_html()
    after = TemperatureScaling().fit(problem.proba[:300], problem.y[:300])
    direct = metrics.log_loss(problem.y[300:], after.predict_proba(problem.proba[300:]))
    assert_allclose(one.after.measure("log_loss").value, direct, rtol=1e-9)
    splitter = Report.from_predictions(
        problem.y, problem.proba, cv=KFold(3), calibrators=TemperatureScaling(), **FAST
    ).summary
    assert "KFold" in splitter.settings.cv


def test_a_watcher_is_told_every_step(problem):
    told = []
    Report.from_predictions(
        problem.y,
        problem.proba,
        calibrators=[TemperatureScaling(), DirichletCalibrator()],
        progress=lambda *step: told.append(step),
        **FAST,
    )
    done = [step[1] for step in told]
    assert done == sorted(done)
    assert {step[2] for step in told} == {done[-1]}
    assert any("DirichletCalibrator" in step[0] for step in told)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"calibrators": "temperature"}, "`calibrators` must be a dict or a list"),
        ({"calibrators": [TemperatureScaling]}, "must be a calibrator of dircal"),
        ({"calibrators": []}, "`calibrators` is empty"),
        ({"input_scale": "logits"}, "`input_scale` must be one of"),
        ({"calibrators": TemperatureScaling(input_scale="logit")}, "`calibrators` must read what"),
        ({"n_resamples": 10}, "`n_resamples` must be a whole number of at least 100"),
        ({"cv": 1}, "`cv` must be a whole number of at least 2"),
        ({"class_names": ["a"]}, "`class_names` must be 4 names"),
        ({"class_names": 4}, "`class_names` must be 4 names"),
        ({"random_state": "seed"}, "`random_state`"),
        ({"y_prob": [[0.2, 0.2, 0.2, 0.2]]}, "`y_prob`"),
    ],
)
def test_bad_input_is_refused_by_name(problem, arguments, message):
    given = {"y_true": problem.y, "y_prob": problem.proba, **arguments}
    if len(given["y_prob"]) == 1:
        given["y_true"] = [0]
    with pytest.raises(ValueError, match=message):
        Report.from_predictions(given.pop("y_true"), given.pop("y_prob"), **given)


def test_a_map_of_other_classes_is_refused(problem, make_problem):
    other = make_problem(0, n=100, k=4)
    fitted = TemperatureScaling().fit(other.proba, np.array(list("abcd"))[other.y])
    with pytest.raises(ValueError, match="classes"):
        Report.from_predictions(problem.y, problem.proba, calibrators=fitted)
    with pytest.raises(ValueError, match="`calibrators` must be fitted on the classes"):
        Report.from_predictions(problem.y, problem.proba, calibrators=fitted, classes=range(4))


# Temperature scaling has no finite optimum there, and says so.
@pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_one_label_are_no_ground_for_advice(problem, weighted):
    weights = np.ones(len(problem.y)) if weighted else None
    report = Report.from_predictions(
        np.full(len(problem.y), 2),
        problem.proba,
        classes=range(4),
        class_names=["ant", "bee", "cow", "dog"],
        calibrators=TemperatureScaling(),
        sample_weight=weights,
        **FAST,
    )
    verdict = report.summary.verdict
    assert verdict.effect == "insufficient data"
    assert "all rows belong to cow" in verdict.advice
    page = report.to_html()
    assert "Use Temp" not in page
    assert 'class="num better"' not in page, "nothing is shown as an improvement"
    assert repr(report).startswith("<Report: On 600 rows")


def test_classes_are_counted_among_the_scored_rows(problem):
    fitted, scored = np.arange(400), np.arange(400, 600)
    data = Report.from_predictions(
        problem.y, problem.proba, calibrators=TemperatureScaling(), cv=[(fitted, scored)], **FAST
    ).summary.data
    counts = np.bincount(problem.y[scored])
    assert (data.largest, data.n_largest) == (str(counts.argmax()), counts.max())
