"""Words follow from tests and sizes, and from nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from dircal import IdentityCalibrator, Report
from dircal.exceptions import ColumnOrderWarning
from dircal.metrics import Predictions
from dircal.report._copies import count_copies
from dircal.report._verdict import judge


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
        ({"pvalues": (0.0, 0.0), "gap": 0.05}, 0.001, "too sure", "too sure of itself"),
        ({"pvalues": (0.0, 0.5), "gap": -0.05}, 0.5, "too timid", "less sure than it could be"),
        ({"pvalues": (0.0, 0.0), "gap": 0.005}, 0.5, "in detail", "off in detail"),
        ({"pvalues": (0.5, 0.0), "gap": 0.05}, 0.5, "in detail", "The probabilities are off: on"),
        ({"pvalues": (0.5, 0.5), "gap": 0.0}, 0.001, "in detail", "off in detail"),
        ({"pvalues": (0.02, 0.02), "gap": 0.05}, 0.02, "none", "pass the checks"),
    ],
)
def test_a_fault_needs_a_test_and_a_size(verdict_of, before, score, fault, words):
    verdict = verdict_of(before, score=score)
    assert verdict.fault == fault
    assert words in verdict.sentence
    assert verdict.sentence.count(".") == verdict.sentence.count("%") + 1, "one sentence"


@pytest.mark.parametrize(
    ("after", "effect", "words"),
    [
        ({"loss": (-0.2, -0.1)}, "better", "and they pass the checks."),
        (
            {"loss": (-0.2, -0.1), "pvalues": (0.0, 0.5)},
            "better",
            "although the confidence still fails the check.",
        ),
        ({"loss": (-0.2, 0.1)}, "unclear", "makes no clear difference"),
        ({"loss": (0.1, 0.2)}, "worse", "Leave the probabilities as they are"),
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
        ((0.0, 0.0), (0.5, 0.5), "Collect more rows to tell whether it helps"),
        ((0.0, 0.0), (0.5, 0.0), "and the class probabilities still fail the check"),
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
    assert verdict.effect == "no grounds"
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
    harm = "One class is worse off: the recall falls for class 8 (90.0 % before, 80.0 % after)."
    assert verdict.harm == harm.replace(" %", "\u202f%")
    assert "Before you use it, decide whether the loss in class 8 is acceptable" in verdict.advice
    [recall] = [one for one in verdict.checks if "recognised" in one.question]
    assert (recall.before, recall.after, recall.detail) == (None, False, "less often: class 8")
    unharmed = verdict_of(classes=[steady])
    assert (unharmed.harm, unharmed.worse_off) == ("", ())
    assert unharmed.checks[-1].after is True
    several = verdict_of(classes=[class_of(report, name) for name in "abcde"])
    assert several.harm.startswith("5 classes are worse off")
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
    assert report.summary.verdict.effect == "no grounds"
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
