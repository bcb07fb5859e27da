"""The section about what calibration would save."""

import numpy as np
import pytest

from dircal import Report, TemperatureScaling, compare
from dircal.decide import CostTable, Savings, realised_cost, savings
from dircal.plots import CostCoverageDisplay
from dircal.report._savings import _sentence

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
