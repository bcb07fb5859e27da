"""Checked predictions: read in blocks, or held and computed once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dircal.metrics import ClassCurves, ConfidenceCurve, EqualWidth, Predictions, check_bins
from dircal.metrics import _predictions as module


def blocks_of(rows):
    return rows.gather(lambda block: block, "A test")


@pytest.fixture
def rows(make_problem):
    problem = make_problem(0, n=30_000, k=4)
    weight = np.random.default_rng(0).integers(0, 3, 30_000).astype(float)
    return Predictions.check(problem.y, problem.proba, weight)


def test_blocks_hold_the_rows_that_count(rows):
    used = rows.sample_weight > 0
    blocks = blocks_of(rows)
    assert len(blocks) > 1
    assert_array_equal(np.concatenate([block.labels for block in blocks]), rows.labels[used])
    proba = np.concatenate([block.proba for block in blocks], axis=1).T
    assert_array_equal(proba, rows.probabilities[used])
    confidence = np.concatenate([block.confidence for block in blocks])
    assert_array_equal(confidence, proba.max(axis=1))
    hits = np.concatenate([block.hits for block in blocks])
    assert_array_equal(hits, proba.argmax(axis=1) == rows.labels[used])


def test_held_rows_are_read_once(rows, monkeypatch):
    calls = []
    normalise = module.normalise_beyond_rounding
    monkeypatch.setattr(
        module,
        "normalise_beyond_rounding",
        lambda block, rounding: calls.append(1) or normalise(block, rounding),
    )
    held = rows.hold()
    first = blocks_of(held)
    n_blocks = len(calls)
    assert all(a is b for a, b in zip(first, blocks_of(held), strict=True))
    assert held.mean(lambda block: block.hits) == rows.mean(lambda block: block.hits)
    assert len(calls) == 2 * n_blocks  # those of the rows that are not held


def test_tables_are_computed_once(rows):
    table = rows.table(ConfidenceCurve(), EqualWidth(15))
    assert rows.table(ConfidenceCurve(), check_bins(15, "width", "right_closed")) is table
    assert rows.table(ConfidenceCurve(), EqualWidth(7)) is not table
    assert rows.table(ClassCurves(), EqualWidth(15)) is not table
    assert (
        rows.with_weight(rows.sample_weight).table(ConfidenceCurve(), EqualWidth(15)) is not table
    )


def test_chances_are_those_of_the_rows(make_problem):
    problem = make_problem(1, n=500, k=3)
    rows = Predictions.check(problem.y, problem.proba)
    table = rows.table(ClassCurves(), EqualWidth(5))
    for j, chances in enumerate(rows.chances(ClassCurves(), EqualWidth(5))):
        places = [chance.position for chance in chances]
        assert_array_equal(places, np.flatnonzero(table.count[j]))
        assert_array_equal([chance.n_rows for chance in chances], table.count[j, places])
        assert_allclose([chance.expected for chance in chances], table.predicted[j, places])


def test_other_probabilities_of_the_same_rows(make_problem):
    problem = make_problem(2, n=50, k=3)
    rows = Predictions.check(problem.y, problem.proba[:, [2, 0, 1]], classes=[2, 0, 1])
    [block] = blocks_of(rows)
    assert_array_equal(block.proba, problem.proba.T)
    assert_array_equal(rows.y_true, problem.y)
    # What a map gives is in the sorted order of the classes.
    [again] = blocks_of(rows.with_probabilities(problem.proba))
    assert_array_equal(again.proba, problem.proba.T)


def test_positions_of_labels(make_problem):
    problem = make_problem(3, n=50, k=3)
    rows = Predictions.check(np.array(["ant", "bee", "cow"])[problem.y], problem.proba)
    assert rows.position("bee") == 1
    with pytest.raises(ValueError, match=r"`label` must be one of the classes .*; got 'dog'"):
        rows.position("dog")
