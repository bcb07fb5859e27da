import json

import pytest

from dircal import calibration_test, confidence_interval, metrics
from dircal.metrics import RECORDS, Table, measures_in

FEW = ("--resamples", "100")


def test_all_measures_are_those_of_the_library(run, write_csv, animals):
    write_csv()
    found = json.loads(run("evaluate", "p.csv", "--label", "y", *FEW, "--json").stdout)
    proba, y = animals
    assert [*found["measures"]] == [one.name for one in measures_in(Table.EVALUATION)]
    assert {one.name for one in measures_in(Table.COMPARISON)} <= {*found["measures"]}
    for name, one in found["measures"].items():
        assert one["value"] == pytest.approx(getattr(metrics, name)(y, proba), rel=1e-12)
        if one["low"] is None:
            assert RECORDS[name].interval is None
            continue
        # The same as asked one by one, with the same seed.
        alone = confidence_interval(y, proba, name, n_resamples=100, random_state=0)
        assert one["low"] == pytest.approx(alone.low, rel=1e-9)
        assert one["high"] == pytest.approx(alone.high, rel=1e-9)
        assert one["corrected"] == pytest.approx(alone.corrected, rel=1e-9)
    for name in ("confidence_ece", "classwise_ece"):
        test = calibration_test(y, proba, statistic=name, n_resamples=100, random_state=0)
        assert found["tests"][name]["pvalue"] == test.pvalue
    assert {*found["tests"]} == {"confidence_ece", "classwise_ece", "score_test"}
    assert found["rows"] == 300
    assert not found["failed"]


def test_intervals_stand_beside_the_value_that_they_are_of(run, write_csv, animals):
    write_csv()
    told = run("evaluate", "p.csv", "--label", "y", *FEW).stdout
    found = confidence_interval(*animals[::-1], "classwise_ece", n_resamples=100, random_state=0)
    assert found.corrected < found.estimate
    [line] = [one for one in told.splitlines() if one.startswith("classwise_ece")]
    assert line.split()[1:] == [
        f"{found.estimate:.4f}",
        f"{found.corrected:.4f}",
        f"{found.low:.4f}",
        "to",
        f"{found.high:.4f}",
    ]
    assert "without bias" in told.splitlines()[2]
    assert "their intervals are of the value without bias" in " ".join(told.split())
    [line] = [one for one in told.splitlines() if one.startswith("log_loss")]
    assert len(line.split()) == 5, "the interval of a loss is one of the value itself"


def test_it_says_what_comes_from_moments(run, write_csv, use_limits):
    write_csv()
    use_limits("ResamplingLimits", min_moment_rows=300, max_moment_sums=64)
    told = " ".join(run("evaluate", "p.csv", "--label", "y", *FEW).stdout.split())
    start = "With 300 rows these come from moments of sums over rows: the interval of accuracy,"
    assert start in told
    assert "; from rows with random signs: the interval of smooth_ece; from draws:" in told
    # A score of so few rows is not normal.
    assert told.endswith("from draws: the test of confidence_ece, the score test.")
    found = json.loads(run("evaluate", "p.csv", "--label", "y", *FEW, "--json").stdout)
    assert found["measures"]["accuracy"]["source"] == "moments"
    assert found["measures"]["smooth_ece"]["source"] == "multipliers"
    assert found["measures"]["maximum_calibration_error"]["source"] is None
    assert found["tests"]["classwise_ece"]["source"] == "moments"
    assert found["tests"]["score_test"]["source"] == "draws"
    use_limits("ResamplingLimits", max_excess_kurtosis=100.0)
    told = " ".join(run("evaluate", "p.csv", "--label", "y", *FEW).stdout.split())
    assert ", the test of classwise_ece, the score test; from rows" in told


def test_logits_are_measured_after_their_softmax(run, write_csv, make_problem):
    write_csv()
    write_csv("z.csv", scores=make_problem(1, n=300).logits)
    a, b = (
        json.loads(run("evaluate", *one, "--label", "y", *FEW, "--json").stdout)
        for one in (["p.csv"], ["z.csv", "--scale", "logit"])
    )
    assert a["measures"]["log_loss"]["value"] == pytest.approx(b["measures"]["log_loss"]["value"])


def test_gates(run, write_csv):
    write_csv()
    rules = ["--fail-if", "accuracy < 0.01", "--fail-if", "log_loss>=0.1"]
    told = run("evaluate", "p.csv", "--label", "y", *FEW, *rules, code=1).stdout
    assert "passed: accuracy is 0." in told
    assert "FAILED: log_loss is " in told
    assert "(fails if log_loss>=0.1)" in told
    run("evaluate", "p.csv", "--label", "y", *FEW, *rules[:2])
    rules = ["--fail-if", "score_test.pvalue < 1.5", "--fail-if", "brier_score.high > 0"]
    found = run("evaluate", "p.csv", "--label", "y", *FEW, *rules, "--json", code=1).stdout
    assert [gate["failed"] for gate in json.loads(found)["gates"]] == [True, True]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("ece > 0.1", "'ece' is not measured. There are accuracy, "),
        ("log_loss > nan", "must be a measure, one of < <= > >=, and a number"),
        ("log_loss > 1 or True", "must be a measure"),
        ("__import__('os') > 1", "must be a measure"),
        ("log_loss = 1", "must be a measure"),
        ("", "must be a measure"),
    ],
)
def test_rules_that_are_none(run, write_csv, rule, message):
    write_csv()
    assert message in run("evaluate", "p.csv", "--label", "y", "--fail-if", rule, code=2).stderr
