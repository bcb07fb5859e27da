"""A report about rows with soft labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import Report, metrics


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
