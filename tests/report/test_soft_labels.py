"""A report about rows with soft labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import Report, metrics
from dircal.decide import CostTable


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 150)
    spread = np.sqrt(proba) / np.sqrt(proba).sum(axis=1, keepdims=True)
    return np.array([rng.multinomial(4, row) for row in spread]), proba


def summarise(y, proba):
    options = {"calibrators": ["temperature"], "n_resamples": 100, "random_state": 0}
    return Report.from_predictions(y, proba, **options).summary


def test_rows_count_once(rows):
    counts, proba = rows
    found, shares = summarise(counts, proba), summarise(counts / 4, proba)
    before = found.methods[0]
    assert_allclose(before.measure("log_loss").value, metrics.log_loss(counts, proba))
    assert before.measure("log_loss").low is not None
    assert before.tests == ()
    assert found.score is None
    assert found.verdict.fault == "not tested"
    assert any("Labels are soft" in said for said in found.verdict.cautions)
    assert "pass the checks" not in found.verdict.advice
    assert before.measures == shares.methods[0].measures


def test_classes_and_changes_are_sums_over_labels(rows):
    counts, proba = rows
    found = summarise(counts, proba)
    assert_allclose([one.count for one in found.classes], counts.sum(axis=0) / 4)
    changes = found.changes
    gained = found.methods[1].accuracy - found.methods[0].accuracy
    assert_allclose(changes.fixed - changes.spoiled, gained * len(proba), atol=1e-9)


def test_rows_with_other_numbers_of_annotators_are_weighted(rows):
    counts, proba = rows
    counts[0] *= 3
    found = summarise(counts, proba)
    assert found.data.weight == counts.sum()
    assert found.methods[0].measure("log_loss").low is None


@pytest.mark.parametrize("sure", [False, True], ids=["soft", "annotators who agree"])
def test_what_is_tested_needs_one_label_for_each_row(rows, sure):
    counts, proba = rows
    y = counts.argmax(axis=1)
    if sure:
        counts = np.eye(3, dtype=int)[y] * (1 + np.arange(len(y)) % 3)[:, None]
    options = {"calibrators": ["temperature"], "n_resamples": 100}
    costs = CostTable.of_errors([0, 1, 2])
    with pytest.raises(ValueError, match="`costs` is given, and `y_true` holds soft labels"):
        Report.from_predictions(counts, proba, costs=costs, **options)
    with pytest.raises(ValueError, match="`y_old` is given, and `y_true` holds soft labels"):
        Report.from_predictions(counts, proba, y_old=y, prob_old=proba, **options)
    with pytest.raises(ValueError, match="`y_old` holds soft labels"):
        Report.from_predictions(y, proba, y_old=counts, prob_old=proba, **options)
