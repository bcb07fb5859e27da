"""Measures, tests and intervals are folds: the same for any parts, wherever the parts are."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dircal._core.data.chunks import AbstractChunkSource, ArraySource
from dircal.inference import both_tests_of, default_measures, score_test_of, tabulate_measures
from dircal.metrics import RECORDS, EqualWidth, Predictions, Table, corp_reliability, values_of

CHUNKS = (None, 7, 64)


@dataclass(frozen=True, eq=False)
class Elsewhere(AbstractChunkSource):
    """Parts that are folded as on a cluster: functions and sums travel as bytes."""

    rows: ArraySource

    @property
    def n_classes(self):
        return self.rows.n_classes

    @property
    def n_samples(self):
        return self.rows.n_samples

    @property
    def total_weight(self):
        return self.rows.total_weight

    @property
    def is_weighted(self):
        return self.rows.is_weighted

    def subsample(self):
        return None

    def fold(self, function):
        sent = pickle.dumps(function)
        assert len(sent) < 20_000, "a function brings rows along"
        parts = [pickle.dumps(pickle.loads(sent)(chunk)) for chunk in self.rows]
        total = pickle.loads(parts[0])
        for part in parts[1:]:
            total += pickle.loads(part)
        return total


def in_parts(predictions, chunk_rows):
    """The same rows in chunks of so many."""
    return replace(predictions, source=replace(predictions.source, chunk_rows=chunk_rows))


def elsewhere(predictions, chunk_rows):
    """The same rows, in parts that are not here."""
    source = Elsewhere(in_parts(predictions, chunk_rows).source)
    return replace(predictions, source=source, given=None)


def predictions_of(kind):
    rng = np.random.default_rng(3)
    k = 2 if kind == "two classes" else 5
    proba = rng.dirichlet(np.full(k, 0.6), 500)
    y = (rng.random((500, 1)) > proba.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)
    weight = None
    if kind == "absent class":
        y[y == 3] = 2
    if kind == "weights":
        weight = rng.exponential(size=500)
    if kind == "zero weights":
        # Whole parts of seven rows without weight.
        weight = np.repeat(rng.integers(0, 2, 50), 10) * rng.integers(1, 4, 500)
    if kind == "float32":
        proba = proba.astype(np.float32)
    if kind == "columns":
        return Predictions.check(y, proba[:, ::-1], weight, classes=range(k)[::-1])
    return Predictions.check(y, proba, weight, classes=range(k))


KINDS = (
    "plain", "two classes", "absent class", "weights", "zero weights", "float32", "columns",
)  # fmt: skip


def options_of(record):
    """The measure as it is, and with everything that makes other sums of it."""
    first = {"label": 1} if record.name == "class_ece" else {}
    options = [first]
    if "binning" in record.options:
        options.append({**first, "binning": "paper_table", "n_bins": 11})
    if "over" in record.options:
        options.append({**first, "over": "classes"})
    return options


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RECORDS)
def test_every_measure_is_the_same_for_any_parts(name, kind):
    predictions = predictions_of(kind)
    for options in options_of(RECORDS[name]):
        quantity = RECORDS[name].of(predictions, **options)
        expected = quantity.value(predictions)
        for chunk_rows in CHUNKS:
            parts = in_parts(predictions, chunk_rows)
            assert quantity.value(parts) == pytest.approx(expected, rel=1e-12, abs=1e-14)
            far = elsewhere(predictions, chunk_rows)
            again = RECORDS[name].of(far, **options).value(far)
            assert again == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_all_measures_take_one_pass():
    predictions = predictions_of("plain")
    passes = []

    class Counted(Elsewhere):
        def fold(self, function):
            passes.append(function)
            return super().fold(function)

    far = replace(predictions, source=Counted(predictions.source), given=None)
    records = [RECORDS[name] for name in RECORDS if name != "class_ece"]
    values = values_of([record.of(far) for record in records], far)
    assert len(passes) == 1
    assert_allclose(values, [record.of(predictions).value(predictions) for record in records])
    # What was summed once is known.
    values_of(
        [record.of(far) for record in records if record.name != "debiased_squared_error"], far
    )
    assert len(passes) == 1


def test_what_is_no_sum_says_so():
    far = elsewhere(predictions_of("plain"), 64)
    with pytest.raises(ValueError, match=r"`strategy` is 'mass', which looks at all rows at once"):
        RECORDS["confidence_ece"].of(far, strategy="mass")
    with pytest.raises(ValueError, match="read in parts"):
        far.probabilities  # noqa: B018
    with pytest.raises(ValueError, match="Several predictions of the same rows"):
        both_tests_of([far, far], EqualWidth(15), 100, 0)


@pytest.mark.parametrize("chunk_rows", [7, 64])
def test_equal_mass_and_isotonic_curves_do_not_depend_on_chunks(chunk_rows):
    predictions = predictions_of("weights")
    parts = in_parts(predictions, chunk_rows)
    for name in ("confidence_ece", "classwise_ece", "debiased_squared_error"):
        of_all, of_parts = (RECORDS[name].of(one, strategy="mass") for one in (predictions, parts))
        assert of_parts.value(parts) == pytest.approx(of_all.value(predictions), rel=1e-12)
    found = corp_reliability(predictions.y_true, predictions.probabilities)
    assert found.score == pytest.approx(
        found.miscalibration - found.discrimination + found.uncertainty
    )


@pytest.mark.parametrize("kind", ["plain", "two classes", "absent class", "float32"])
def test_tests_are_the_same_for_any_parts(kind):
    predictions = predictions_of(kind)
    [expected] = both_tests_of([predictions], EqualWidth(15), 300, 4)
    score = score_test_of(predictions, 100, 0.05, np.random.default_rng(4))
    for chunk_rows in CHUNKS:
        far = elsewhere(predictions, chunk_rows)
        [found] = both_tests_of([far], EqualWidth(15), 300, 4)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
            assert ours.pvalue == theirs.pvalue
            assert_allclose(ours.null_sample, theirs.null_sample, rtol=1e-11)
        again = score_test_of(far, 100, 0.05, np.random.default_rng(4))
        assert again.statistic == pytest.approx(score.statistic, rel=1e-9)
        assert again.pvalue == score.pvalue
        assert_allclose(again.null_sample, score.null_sample, rtol=1e-8)


def numbers(rows):
    ends = [(row.value, row.low, row.high, row.corrected) for row in rows]
    return np.array(ends, dtype=float)


@pytest.mark.parametrize("kind", ["plain", "two classes", "absent class", "float32"])
def test_intervals_are_the_same_for_any_parts(kind):
    predictions = predictions_of(kind)
    measures = default_measures(Table.EVALUATION)
    draws = (0.95, 150)

    def table(one):
        return [
            *tabulate_measures(measures, {"uncalibrated": one}, *draws, np.random.default_rng(1))
        ]

    expected = numbers(table(predictions))
    for chunk_rows in CHUNKS:
        # Ends by halving are found to a part in a million.
        found = numbers(table(elsewhere(predictions, chunk_rows)))
        assert_allclose(found, expected, rtol=3e-6, atol=1e-12)


def test_differences_of_means_do_not_depend_on_chunks():
    before = predictions_of("plain")
    sharper = before.probabilities**1.3
    after = before.with_probabilities(sharper / sharper.sum(axis=1, keepdims=True))
    measures = default_measures(Table.COMPARISON)

    def table(chunk_rows):
        both = {"uncalibrated": before, "sharper": after}
        cut = {name: in_parts(one, chunk_rows) for name, one in both.items()}
        rows = tabulate_measures(measures, cut, 0.9, 150, np.random.default_rng(1))
        return np.array([(row.difference, row.difference_low, row.pvalue) for row in rows], float)

    assert_allclose(table(7), table(None), rtol=1e-9, atol=1e-12)


def test_rows_that_are_not_counted_are_not_drawn():
    far = elsewhere(predictions_of("plain"), 64)

    class Uncounted(Elsewhere):
        def fold(self, function):
            return sum_of(function(replace(chunk, start=None)) for chunk in self.rows)

    def sum_of(parts):
        total = next(parts)
        for part in parts:
            total += part
        return total

    uncounted = replace(far, source=Uncounted(far.source.rows))
    assert RECORDS["log_loss"].of(uncounted).value(uncounted) > 0
    with pytest.raises(ValueError, match="does not count them"):
        score_test_of(uncounted, 100, 0.05, np.random.default_rng(0))


def test_the_numbers_of_rows_are_those_of_the_source():
    predictions = predictions_of("plain")
    starts = [chunk.start for chunk in in_parts(predictions, 64).source]
    assert_array_equal(starts, np.arange(0, 500, 64))
