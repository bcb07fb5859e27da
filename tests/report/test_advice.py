"""The verdict and the sections about savings and shift."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from dircal import (
    GenerativeParameters,
    IdentityCalibrator,
    Report,
    TemperatureScaling,
    VectorScaling,
    compare,
)
from dircal.decide import CostTable, Savings, realised_cost, savings
from dircal.exceptions import ColumnOrderWarning
from dircal.metrics import Predictions, log_loss
from dircal.plots import CostCoverageDisplay
from dircal.report._copies import count_copies
from dircal.report._savings import _sentence
from dircal.report._shift import _advice
from dircal.report._verdict import judge
from dircal.shift import PriorShift, recalibrate, shift_report

# Words follow from tests and sizes, and from nothing else.


def altered(method, pvalues=(0.5, 0.5), gap=0.0, loss=(-0.1, -0.02)):
    """The method with other p-values, another mean confidence and another change of the loss."""
    tests = tuple(replace(t, pvalue=p) for t, p in zip(method.tests, pvalues, strict=True))
    measures = tuple(
        replace(one, difference_low=loss[0], difference_high=loss[1])
        if one.measure == "log_loss"
        else one
        for one in method.measures
    )
    return replace(
        method, tests=tests, measures=measures, confidence=method.accuracy + gap, fit_warnings=()
    )


@pytest.fixture
def verdict_of(report):
    summary = report.summary

    def make(before=None, after=None, score=0.5, data=None, classes=()):
        methods = [
            altered(summary.before, **(before or {})),
            altered(summary.after, **(after or {})),
        ]
        finding = replace(summary.score, pvalue=score)
        return judge(methods, summary.chosen, finding, classes, data or summary.data, 0.95)

    return make


@pytest.mark.parametrize(
    ("before", "score", "fault", "words"),
    [
        (
            {"pvalues": (0.0, 0.0), "gap": 0.05},
            0.001,
            "overconfident",
            "is overconfident: on",
        ),
        (
            {"pvalues": (0.0, 0.5), "gap": -0.05},
            0.5,
            "underconfident",
            "is underconfident: on",
        ),
        (
            {"pvalues": (0.0, 0.0), "gap": 0.005},
            0.5,
            "miscalibrated",
            "right on average, but",
        ),
        (
            {"pvalues": (0.5, 0.0), "gap": 0.05},
            0.5,
            "miscalibrated",
            "Class probabilities are off: on",
        ),
        (
            {"pvalues": (0.5, 0.5), "gap": 0.0},
            0.001,
            "miscalibrated",
            "right on average, but",
        ),
        ({"pvalues": (0.02, 0.02), "gap": 0.05}, 0.02, "none", "No evidence of miscalibration"),
    ],
)
def test_a_fault_needs_a_test_and_a_size(verdict_of, before, score, fault, words):
    verdict = verdict_of(before, score=score)
    assert verdict.fault == fault
    assert words in verdict.sentence
    assert verdict.sentence.count(".") == verdict.sentence.count("%") + 2, "two sentences"


@pytest.mark.parametrize(
    ("after", "effect", "words"),
    [
        ({"loss": (-0.2, -0.1)}, "better", "and passes both tests."),
        (
            {"loss": (-0.2, -0.1), "pvalues": (0.0, 0.5)},
            "better",
            "although the confidence still fails the test.",
        ),
        ({"loss": (-0.2, 0.1)}, "unclear", "makes no significant difference"),
        ({"loss": (0.1, 0.2)}, "worse", "Keep the original probabilities"),
    ],
)
def test_advice_follows_from_the_interval_of_the_change(verdict_of, after, effect, words):
    verdict = verdict_of(after=after)
    assert verdict.effect == effect
    assert words in verdict.advice


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((0.5, 0.5), (0.5, 0.5), "No action needed: "),
        ((0.0, 0.0), (0.5, 0.5), "Collect more data"),
        ((0.0, 0.0), (0.5, 0.0), "and the class probabilities still fail the test"),
    ],
)
def test_no_clear_difference_is_no_claim_about_the_fault(verdict_of, before, after, words):
    unclear = {"pvalues": after, "loss": (-0.2, 0.1)}
    assert words in verdict_of({"pvalues": before}, unclear).advice


@pytest.mark.parametrize("loss", [(-0.2, -0.1), (0.1, 0.2)])
@pytest.mark.parametrize(
    ("n", "n_largest", "words"),
    [
        (5, 2, "5 rows are too few to tell"),
        (99, 30, "99 rows are too few to tell"),
        (600, 600, "all rows belong to 2, and from one label nothing can be learned or tested"),
        (20, 20, "all rows belong to 2"),
        (600, 599, "only 1 row belongs to another class than 2"),
        (600, 591, "only 9 rows belong to another class than 2"),
        (400, 30, "400 rows are too few for 100 classes. Pass at least 500, 5 for each class."),
    ],
)
def test_some_rows_are_no_ground_for_advice(verdict_of, report, loss, n, n_largest, words):
    k = 100 if n == 400 else 4
    data = replace(report.summary.data, n_scored=n, n_classes=k, largest="2", n_largest=n_largest)
    verdict = verdict_of(before={"pvalues": (0.0, 0.0)}, after={"loss": loss}, data=data)
    assert verdict.effect == "insufficient data"
    assert verdict.advice.startswith("No recommendation: ")
    assert words in verdict.advice
    assert {one.before for one in verdict.checks} | {one.after for one in verdict.checks} == {None}
    assert (verdict.fault == "not tested") == (n == n_largest)
    assert any("mean no more than that" in one for one in verdict.cautions) == (n == n_largest)


def test_just_enough_rows_are_a_ground(verdict_of, report):
    for n, n_largest in ((100, 50), (600, 590)):
        data = replace(report.summary.data, n_scored=n, n_largest=n_largest)
        assert verdict_of(data=data).effect == "better"


def test_few_rows_and_absent_classes_are_said(verdict_of, report):
    data = replace(report.summary.data, n_scored=40, absent=tuple("abcdefg"))
    cautions = " ".join(verdict_of(data=data).cautions)
    assert "40 rows are few" in cautions
    assert "a, b, c, d, e and 2 more" in cautions
    assert verdict_of().cautions == ()
    weighted = " ".join(verdict_of(data=replace(data, weight=40.0)).cautions)
    assert "40 rows are few: the numbers are rough" in weighted


def test_columns_in_another_order_are_said_on_the_page(make_problem):
    """Who is handed the page has not seen the warning."""
    problem = make_problem(0, n=200)
    y = np.array(["low", "mid", "top"])[problem.y]
    with pytest.warns(ColumnOrderWarning):
        report = Report.from_predictions(
            y,
            problem.proba[:, [2, 0, 1]],
            calibrators=IdentityCalibrator(),
            class_names={"low": "L", "mid": "M", "top": "T"},
            n_resamples=100,
        )
    assert (
        "another order of the columns far better: T, L, M. If" in report.summary.verdict.cautions[0]
    )


def class_of(report, name="8", count=300.0, before=0.9, after=0.8, lost=30.0, won=0.0):
    return replace(
        report.summary.classes[0],
        name=name,
        count=count,
        recall_before=before,
        recall_after=after,
        lost=lost,
        won=won,
    )


def test_a_class_that_is_worse_off_is_named(verdict_of, report):
    fallen, steady = class_of(report), class_of(report, "fox", after=0.9, lost=5.0, won=5.0)
    verdict = verdict_of(classes=[steady, fallen])
    assert verdict.effect == "better"
    assert verdict.worse_off == ("8",)
    harm = "Recall drops for 1 class: class 8 (90.0 % to 80.0 %)."
    assert verdict.harm == harm.replace(" %", "\u202f%")
    assert (
        "Before you use it, decide whether lower recall in class 8 is acceptable" in verdict.advice
    )
    [recall] = [one for one in verdict.checks if "loses recall" in one.question]
    assert (recall.before, recall.after, recall.detail) == (None, False, "lower recall: class 8")
    unharmed = verdict_of(classes=[steady])
    assert (unharmed.harm, unharmed.worse_off) == ("", ())
    assert unharmed.checks[-1].after is True
    several = verdict_of(classes=[class_of(report, name) for name in "abcde"])
    assert several.harm.startswith("Recall drops for 5 classes: ")
    assert several.harm.endswith(" and 2 more.")


@pytest.mark.parametrize(
    ("fall", "lost", "won", "named"),
    [
        (0.30, 2.0, 0.0, False),  # few rows
        (0.05, 3.0, 0.0, True),
        (0.04, 4.0, 1.0, False),  # may be chance
        (0.03, 30.0, 5.0, True),
        (0.01, 300.0, 5.0, False),  # too little to matter
        (-0.1, 0.0, 30.0, False),
    ],
)
def test_a_fall_of_the_recall_needs_a_size_and_rows(verdict_of, report, fall, lost, won, named):
    one = class_of(report, before=0.8, after=0.8 - fall, lost=lost, won=won)
    assert (verdict_of(classes=[one]).worse_off == ("8",)) == named
    absent = replace(one, recall_before=None, recall_after=None)
    assert verdict_of(classes=[absent]).worse_off == ()


def test_checks_are_passed_or_failed_by_the_tests(verdict_of):
    verdict = verdict_of({"pvalues": (0.0, 0.5)}, {"pvalues": (0.5, 0.01), "loss": (0.1, 0.2)})
    assert [(one.before, one.after) for one in verdict.checks] == [
        (False, True),
        (True, False),
        (None, False),
        (None, True),
    ]
    assert verdict_of(after={"loss": (-0.1, 0.2)}).checks[2].after is None


def test_copies_of_rows_are_no_ground_for_advice(make_problem):
    rows = make_problem(0, n=60)
    y, proba = np.tile(rows.y, 10), np.tile(rows.proba, (10, 1))
    report = Report.from_predictions(y, proba, calibrators=IdentityCalibrator(), n_resamples=100)
    assert report.summary.data.n_copies == 540
    assert report.summary.verdict.effect == "insufficient data"
    assert "540 of the 600 rows are copies of others" in report.summary.verdict.advice


def test_equal_scores_of_different_rows_are_no_copies(make_problem):
    """As those of a tree, or of a model that is certain."""
    rng = np.random.default_rng(0)
    leaves = rng.dirichlet(np.ones(3), 20)[rng.integers(0, 20, 1000)]
    y = (leaves.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    certain = np.eye(3)[y]
    for proba in (leaves, certain, make_problem(0, n=600).proba):
        predictions = Predictions.check(y[: len(proba)], proba, None, range(3))
        assert count_copies(predictions) == 0


# The section about what calibration would save.


FAST = {"n_resamples": 100, "random_state": 0}
COSTS = CostTable.from_matrix(
    [[0, 5, 9, 9], [5, 0, 9, 9], [4, 4, 0, 1], [4, 4, 1, 0]],
    classes=[0, 1, 2, 3],
    actions=["stop", "wait", "go", "run"],
)


def report_on(problem, costs, **options):
    return Report.from_predictions(
        problem.y, problem.proba, calibrators=TemperatureScaling(), costs=costs, **FAST, **options
    )


@pytest.fixture(scope="module")
def asked(problem):
    return report_on(problem, COSTS.with_question(1.5))


@pytest.fixture(scope="module")
def calibrated(problem):
    """What the map makes of each row, out of fold, in the order of the rows."""
    found = compare([TemperatureScaling()], problem.proba, problem.y, **FAST)
    return problem.y[found.scored], problem.proba[found.scored], found.probabilities


def test_without_costs_one_line_says_how(report):
    assert report.summary.savings is None
    page = report.to_html()
    assert 'id="savings"' not in page
    assert "--costs costs.csv" in page


def test_numbers_are_those_of_direct_calls(asked, calibrated):
    y, before, probabilities = calibrated
    after, costs = probabilities["TemperatureScaling"], COSTS.with_question(1.5)
    found, direct = asked.summary.savings, savings(y, before, after, costs)
    for name in ("saved", "low", "high", "pvalue", "changed"):
        assert getattr(found, name) == pytest.approx(getattr(direct, name))
    for side, proba in ((found.before, before), (found.after, after)):
        paid = realised_cost(y, proba, costs)
        assert side.paid == pytest.approx(paid.mean)
        assert side.foretold == pytest.approx(paid.predicted)
        assert (side.low, side.high) == pytest.approx((paid.low, paid.high))
        assert sum(side.shares) == pytest.approx(1.0)
    assert found.effect == "unclear"
    assert found.sentence.startswith("No clear saving: a row costs ")


def test_curves_are_those_of_the_picture(asked, calibrated):
    y, before, probabilities = calibrated
    after = probabilities["TemperatureScaling"]
    display = CostCoverageDisplay.from_predictions(
        y, {"before": before, "after": after}, costs=COSTS, ask=1.5
    )
    found = asked.summary.savings
    assert (found.question, found.ask) == ("ask", 1.5)
    for one, drawn in zip(found.curves, display.curves, strict=True):
        assert one.stop == pytest.approx(drawn.stop)
        assert one.points[-1] == pytest.approx((drawn.coverage[-1], drawn.cost[-1]))
        assert len(one.points) <= 80


def test_without_a_question_the_curves_are_errors(problem, report):
    found = report_on(problem, COSTS).summary.savings
    assert (found.question, found.ask) == (None, None)
    errors = 1.0 - report.summary.before.accuracy
    assert found.curves[0].points[-1] == pytest.approx((1.0, errors))


def test_where_no_decision_changes_nothing_is_saved(problem):
    """A temperature leaves the most probable class as it is."""
    found = report_on(problem, CostTable.of_errors([0, 1, 2, 3])).summary.savings
    assert found.sentence.startswith("TemperatureScaling saves nothing: no decision changes.")
    assert found.changed == 0.0


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (
            0.5,
            "Map saves 0.5000 a row (95 %: 0.4000 to 0.6000): a row costs 2.0000 before and 1.5000",
        ),
        (
            -0.5,
            "Map costs 0.5000 a row (95 %: 0.4000 to 0.6000): a row costs 2.0000 before and 2.5000",
        ),
    ],
)
def test_savings_and_losses_in_words(saved, words):
    low, high = saved - 0.1, saved + 0.1
    found = Savings(2.0, 2.0 - saved, saved, low, high, 0.001, 0.3, 0.95, 500)
    told = _sentence(found, "Map")
    assert told.startswith(words)
    assert told.endswith("That is 500.0 for a thousand rows.")


def test_of_many_actions_the_rarest_are_one(problem):
    rng = np.random.default_rng(0)
    costs = CostTable.from_matrix(
        rng.uniform(0, 9, (4, 12)), classes=[0, 1, 2, 3], actions=[f"a{i}" for i in range(12)]
    )
    found = report_on(problem, costs).summary.savings
    assert len(found.listed) == 6
    assert found.listed[-1][0] == "any other action"
    for i in (1, 2):
        assert sum(one[i] for one in found.listed) == pytest.approx(1.0)


def test_the_page_says_it_all(asked):
    page, found = asked.to_html(), asked.summary.savings
    assert found.sentence in page
    assert all(point in page for point in found.points)
    assert 'href="#savings"' in page
    assert "--costs costs.csv" not in page
    assert page.count('class="curve ') == 2


def test_the_code_on_the_page_makes_the_page_again(asked, problem):
    code = asked.summary.settings.code.replace('report.to_html("report.html")', "")
    room = {"y_true": problem.y, "y_prob": problem.proba, "new_y_prob": problem.proba[:2]}
    exec(code, room)
    assert room["report"].to_html() == asked.to_html()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": [[0, 1], [1, 0]]}, "`costs` must be a CostTable"),
        ({"costs": CostTable.of_errors([0, 1])}, "`costs` must have a row for each class"),
        ({"costs": COSTS, "sample_weight": np.ones(600)}, "`costs` is given, and so is `sample_"),
    ],
)
def test_bad_costs_are_refused_by_name(problem, options, message):
    with pytest.raises(ValueError, match=message):
        Report.from_predictions(problem.y, problem.proba, **options, **FAST)


# The section about what has changed since old rows.


ALPHA = np.ones((3, 3)) + 1.5 * np.eye(3)
EVEN, UNEVEN = [0.4, 0.4, 0.2], [0.1, 0.4, 0.5]


def world(frequencies, n, seed):
    X, y = GenerativeParameters(ALPHA, frequencies).sample(n, seed)
    return y, X


@pytest.fixture(scope="module")
def old():
    return world(EVEN, 1000, 1)


def report_on_shift(y_new, X_new, old, **options):
    options = {"calibrators": VectorScaling(), **FAST, **options}
    return Report.from_predictions(y_new, X_new, y_old=old[0], prob_old=old[1], **options)


@pytest.fixture(scope="module")
def moved(old):
    return report_on_shift(*world(UNEVEN, 1000, 2), old, class_names=["ant", "bee", "cow"])


@pytest.fixture(scope="module")
def blurred(old):
    y, X = world(EVEN, 800, 3)
    noise = np.random.default_rng(0).normal(scale=1.5, size=X.shape)
    return report_on_shift(y, softmax(np.log(X) + noise, axis=1), old, cv=2)


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
    shift = report_on_shift(y_new, X_new, old, calibrators=fitted).summary.shift
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
    shift = report_on_shift(*world(EVEN, 1000, 6), old).summary.shift
    assert shift.kind == "none"
    assert shift.advice == "Nothing needs to be done: keep the old map."
    assert (shift.code, shift.sentences, shift.n_changed) == ("", (), 0)


def test_a_remedy_that_brings_nothing_is_not_praised(moved):
    """With many rows even the smallest shift is found."""
    small = [replace(one, log_loss=0.5) for one in moved.summary.shift.compared]
    assert "which is next to nothing" in _advice("label", small)[0]


def test_a_map_that_never_was_calibrated_is_told_of():
    rows = world(EVEN, 2000, 8)
    shift = report_on_shift(*world(UNEVEN, 2000, 9), rows, calibrators=IdentityCalibrator(), cv=2)
    assert "was not calibrated on the old rows either" in shift.summary.shift.cautions[0]


def test_the_page_shows_the_whole_shift(moved):
    page, shift = moved.to_html(), moved.summary.shift
    for text in (shift.sentence, shift.advice, *shift.sentences):
        assert text.replace("<", "&lt;").replace(">", "&gt;") in page
    assert 'href="#shift"' in page
    assert "cow is more frequent" in page
    assert page.count('class="track"') == len(shift.findings)


def test_code_about_a_shift_makes_the_page_again(moved, old):
    code = moved.summary.settings.code.replace('report.to_html("report.html")', "")
    y_new, X_new = world(UNEVEN, 1000, 2)
    room = {"y_true": y_new, "y_prob": X_new, "new_y_prob": X_new[:2]}
    exec(code, {**room, "y_old": old[0], "prob_old": old[1]}, room)
    assert room["report"].to_dict() == moved.to_dict()


def test_logits_and_classes_that_are_absent_from_one_side(old):
    y_new, X_new = world(UNEVEN, 800, 9)
    y_new[y_new == 2] = 1
    shift = report_on_shift(
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
