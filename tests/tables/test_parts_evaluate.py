"""Measures of parts are those of the whole."""

import numpy as np
import pytest

from dircal import (
    BetaCalibrator,
    VectorScaling,
    calibration_test,
    confidence_interval,
    evaluate,
    metrics,
    score_test,
)
from dircal.metrics import RECORDS, Table, measures_in
from dircal.tables._local_parts import LocalParts

NAMES = ["ant", "bee", "cat", "dog"]


def assert_that_of_the_functions(found, y, proba, n_resamples):
    """Intervals and tests, as asked one by one of one array."""
    with_interval = [one for one in found.measures if RECORDS[one].interval is not None]
    assert [*found.intervals] == with_interval
    for name, interval in found.intervals.items():
        alone = confidence_interval(y, proba, name, n_resamples=n_resamples, random_state=3)
        ends = [interval.low, interval.high, interval.corrected]
        # Ends by halving are found to a part in a million.
        expected = [alone.low, alone.high, alone.corrected]
        assert ends == pytest.approx(expected, rel=3e-6, abs=1e-12), name
        assert interval.source == alone.source
    for name, test in found.tests.items():
        alone = calibration_test(y, proba, statistic=name, n_resamples=n_resamples, random_state=3)
        assert test.statistic == pytest.approx(alone.statistic, rel=1e-12)
        assert test.pvalue == alone.pvalue
        assert test.source == alone.source
        np.testing.assert_allclose(test.null_sample, alone.null_sample, rtol=1e-9)
    alone = score_test(y, proba, n_resamples=n_resamples, random_state=3)
    assert found.score_test.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert found.score_test.pvalue == alone.pvalue
    assert [*found.score_test.classes] == [*alone.classes]


@pytest.fixture
def some(frame):
    """Rows that are drawn in a moment."""
    return frame[:9000]


@pytest.mark.parametrize("n_parts", [1, 7, 64])
def test_intervals_and_tests_are_those_of_the_functions(n_parts, some, cut, in_parts):
    parts = cut(some.drop(columns="w"), n_parts)
    found = evaluate(in_parts(parts), n_resamples=100, random_state=3)
    assert_that_of_the_functions(found, some["y"], some[NAMES], 100)
    assert found.tests["classwise_ece"].source == "draws"


@pytest.mark.parametrize("n_parts", [1, 7])
def test_moments_are_those_of_one_array(n_parts, some, cut, use_limits, in_parts):
    use_limits("ResamplingLimits", min_moment_rows=5000)
    # Few rows are asked how cells depend on each other: the same ones in any parts.
    use_limits("ResamplingLimits", min_pairs=2e4)
    parts = cut(some.drop(columns="w"), n_parts)
    found = evaluate(in_parts(parts), n_resamples=100, random_state=3)
    assert {one.source for one in found.intervals.values()} == {"moments"}
    assert found.tests["classwise_ece"].source == "moments"
    assert_that_of_the_functions(found, some["y"], some[NAMES], 100)


def test_intervals_on_a_cluster_are_those_of_one_array(client, some, in_parts):
    import dask.dataframe as dd

    frame = dd.from_pandas(some.drop(columns="w"), npartitions=7, sort=False)
    found = evaluate(in_parts(frame, client=client), n_resamples=100, random_state=3)
    assert_that_of_the_functions(found, some["y"], some[NAMES], 100)
    assert found.n_rows == len(some)


def test_intervals_of_a_calibrator(some, cut, in_parts):
    fitted = VectorScaling().fit(some[NAMES], some["y"])
    parts = cut(some.drop(columns="w"), 7)
    found = evaluate(in_parts(parts), calibrator=fitted, n_resamples=100, random_state=3)
    assert_that_of_the_functions(found, some["y"], fitted.predict_proba(some[NAMES]), 100)


def test_measures_and_bins_take_one_pass(some, cut, monkeypatch, in_parts):
    passes, fold = [], LocalParts.fold

    def counted(self, function):
        passes.append(function)
        return fold(self, function)

    monkeypatch.setattr(LocalParts, "fold", counted)
    found = evaluate(in_parts(cut(some, 7), scores=NAMES))
    # One look at the order of the columns, and one pass.
    assert len(passes) == 2
    assert [*found.measures] == [one.name for one in measures_in(Table.EVALUATION)]
    bins = metrics.class_bins(some["y"], some[NAMES])
    np.testing.assert_allclose(found.class_bins.count, bins.count)
    assert (found.intervals, found.tests, found.score_test) == ({}, {}, None)


def test_numbers_of_other_types_are_measured_as_in_one_array(some, cut, in_parts):
    short = some.astype(dict.fromkeys(NAMES, np.float32))
    short[NAMES] = (short[NAMES] * 15).round() / np.float32(15)
    short[NAMES[0]] = 1 - short[NAMES[1:]].sum(axis=1)
    short = short[(short[NAMES] >= 0).all(axis=1)]
    found = evaluate(in_parts(cut(short, 7), scores=NAMES))
    for name, value in found.measures.items():
        whole = getattr(metrics, name)(short["y"], short[NAMES])
        assert value == pytest.approx(whole, rel=1e-12), name


def test_a_seed_may_be_any_integer_or_a_generator(some, cut, in_parts):
    parts = cut(some[:500].drop(columns="w"), 2)
    low = [
        evaluate(in_parts(parts), n_resamples=100, random_state=seed).intervals["log_loss"].low
        for seed in (3, np.int64(3), np.random.default_rng(3), np.random.default_rng(3))
    ]
    assert low[0] == low[1]
    assert low[2] == low[3]


def test_weighted_rows_have_no_intervals(frame, in_parts):
    with pytest.raises(ValueError, match="`n_resamples` is 100, but the rows are weighted"):
        evaluate(in_parts([frame], weight="w", scores=NAMES), n_resamples=100)
    with pytest.raises(ValueError, match="`n_resamples` must be"):
        evaluate(in_parts([frame], scores=NAMES), n_resamples=5)


@pytest.mark.parametrize("n_parts", [1, 5])
@pytest.mark.parametrize("weight", [None, "w"])
def test_measures_are_those_of_the_functions(n_parts, weight, frame, cut, in_parts):
    found = evaluate(in_parts(cut(frame, n_parts), weight=weight, scores=NAMES))
    weights = None if weight is None else frame[weight]
    for name, value in found.measures.items():
        whole = getattr(metrics, name)(frame["y"], frame[NAMES], sample_weight=weights)
        assert value == pytest.approx(whole, rel=1e-12), name
    assert found.n_rows == len(frame)
    assert found.classes.tolist() == NAMES


def test_logits_and_a_calibrator(frame, cut, in_parts):
    logits = np.log(frame[NAMES])
    fitted = VectorScaling(input_scale="logit").fit(logits, frame["y"])
    parts = cut(logits.assign(y=frame["y"]), 3)
    before = evaluate(in_parts(parts), input_scale="logit")
    after = evaluate(in_parts(parts), calibrator=fitted)
    expected = metrics.log_loss(frame["y"], frame[NAMES])
    assert before.measures["log_loss"] == pytest.approx(expected, rel=1e-9)
    expected = metrics.log_loss(frame["y"], fitted.predict_proba(logits))
    assert after.measures["log_loss"] == pytest.approx(expected, rel=1e-12)


def test_one_column_with_its_calibrator_and_parts_without_weight(in_parts):
    rng = np.random.default_rng(0)
    q = rng.random(500)
    import pandas as pd

    table = pd.DataFrame({"q": q, "y": (rng.random(500) < q).astype(int), "w": 1.0})
    table.loc[:99, "w"] = 0.0
    fitted = BetaCalibrator().fit(table[["q"]], table["y"])
    found = evaluate(
        in_parts([table[:50], table[50:]], scores=["q"], weight="w"), calibrator=fitted
    )
    rows = table[100:]
    expected = metrics.brier_score(rows["y"], fitted.predict_proba(rows[["q"]]))
    assert found.measures["brier_score"] == pytest.approx(expected, rel=1e-12)


def test_an_option_that_is_not_one(frame, in_parts):
    with pytest.raises(ValueError, match="`input_scale` must be one of"):
        evaluate(in_parts([frame]), input_scale="odds")
