"""Words follow from tests and sizes, and from nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from dircal import IdentityCalibrator, Report
from dircal.exceptions import ColumnOrderWarning
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

    def make(before=None, after=None, score=0.5, data=None):
        methods = [
            altered(summary.before, **(before or {})),
            altered(summary.after, **(after or {})),
        ]
        finding = replace(summary.score, pvalue=score)
        return judge(methods, summary.chosen, finding, data or summary.data, 0.95)

    return make


@pytest.mark.parametrize(
    ("before", "score", "fault", "words"),
    [
        ({"pvalues": (0.0, 0.0), "gap": 0.05}, 0.001, "too sure", "too sure of itself"),
        ({"pvalues": (0.0, 0.5), "gap": -0.05}, 0.5, "too timid", "less sure than it could be"),
        ({"pvalues": (0.0, 0.0), "gap": 0.005}, 0.5, "in detail", "off in detail"),
        ({"pvalues": (0.5, 0.0), "gap": 0.05}, 0.5, "in detail", "The probabilities are off: on"),
        ({"pvalues": (0.5, 0.5), "gap": 0.0}, 0.001, "in detail", "off in detail"),
        ({"pvalues": (0.02, 0.02), "gap": 0.05}, 0.02, "none", "No fault shows"),
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
        ({"loss": (-0.2, -0.1)}, "better", "no fault shows in what it gives"),
        ({"loss": (-0.2, -0.1), "pvalues": (0.0, 0.5)}, "better", "fault with the confidence."),
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
        ((0.5, 0.5), (0.5, 0.5), "no fault shows that it would have to mend"),
        ((0.0, 0.0), (0.5, 0.5), "it takes more rows to tell whether it mends the fault"),
        ((0.0, 0.0), (0.5, 0.0), "the tests still find fault with the class probabilities"),
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
    ],
)
def test_some_rows_are_no_ground_for_advice(verdict_of, report, loss, n, n_largest, words):
    data = replace(report.summary.data, n_scored=n, largest="2", n_largest=n_largest)
    verdict = verdict_of(before={"pvalues": (0.0, 0.0)}, after={"loss": loss}, data=data)
    assert verdict.effect == "no grounds"
    assert verdict.advice.startswith("No recommendation: ")
    assert words in verdict.advice
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
