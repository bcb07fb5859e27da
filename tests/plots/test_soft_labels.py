"""Pictures against soft labels show what repeated rows show, or say that they need one label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal.plots import (
    BeforeAfterDisplay,
    ClasswiseReliabilityDisplay,
    ConfusionChangeDisplay,
    ReliabilityDisplay,
    ScoreBoxDisplay,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 80)
    counts = np.array([rng.multinomial(4, row) for row in proba])
    where, labels = np.nonzero(counts)
    times = counts[where, labels]
    return counts, proba, np.repeat(labels, times), np.repeat(proba[where], times, axis=0)


@pytest.mark.parametrize("display", [ReliabilityDisplay, ClasswiseReliabilityDisplay])
def test_reliability(display, rows):
    counts, proba, y, repeated = rows
    soft = display.from_predictions(counts, proba).to_frame()
    hard = display.from_predictions(y, repeated, level=None).to_frame()
    for name in ("mean_predicted", "frequency", "count"):
        assert_allclose(soft[name], hard[name])


def test_no_range_by_chance(rows):
    counts, proba, *_ = rows
    drawn = ReliabilityDisplay.from_predictions(counts / 4, proba)
    assert np.isnan(np.asarray(drawn.to_frame()["low"], dtype=float)).all()
    drawn.plot()


def test_before_and_after(rows):
    counts, proba, *_ = rows
    sharper = proba**2 / (proba**2).sum(axis=1, keepdims=True)
    drawn = BeforeAfterDisplay.from_predictions(counts, {"one": proba, "other": sharper}).plot()
    assert len(drawn.to_frame()) > 0


def test_changes_of_the_confusion_matrix(rows):
    counts, proba, y, repeated = rows
    soft = ConfusionChangeDisplay.from_predictions(counts, proba, proba[:, [1, 0, 2]])
    hard = ConfusionChangeDisplay.from_predictions(y, repeated, repeated[:, [1, 0, 2]])
    assert_allclose(soft.change, hard.change, atol=1e-9)


def test_boxes_of_scores_need_labels(rows):
    counts, proba, *_ = rows
    with pytest.raises(ValueError, match="holds soft labels"):
        ScoreBoxDisplay.from_predictions(counts / 4, proba)
