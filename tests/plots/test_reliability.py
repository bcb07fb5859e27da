"""Reliability of the confidence."""

import numpy as np
import pytest

from dircal.metrics import confidence_bins, confidence_ece
from dircal.plots import ReliabilityDisplay


def test_it_holds_what_the_table_of_bins_holds(vectors):
    display = ReliabilityDisplay.from_predictions(vectors.y, vectors.proba)
    table = confidence_bins(vectors.y, vectors.proba)
    used = table.count[0] > 0
    frame = display.to_frame()
    assert frame["bin"] == np.flatnonzero(used).tolist()
    assert frame["count"] == table.count[0, used].tolist()
    np.testing.assert_array_equal(frame["frequency"], table.frequency[0, used])
    np.testing.assert_array_equal(frame["mean_predicted"], table.mean_predicted[0, used])
    gaps = np.array(frame["frequency"]) - frame["mean_predicted"]
    np.testing.assert_array_equal(frame["gap"], gaps)
    assert set(frame["curve"]) == {"confidence"}
    assert np.isclose(display.curve.error, confidence_ece(vectors.y, vectors.proba), rtol=1e-12)


def test_bars_gaps_band_and_counts_are_drawn(vectors):
    display = ReliabilityDisplay.from_predictions(vectors.y, vectors.proba).plot()
    frame = display.to_frame()
    n = len(frame["bin"])
    assert [bar.get_height() for bar in display.bars_] == frame["frequency"]
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], 1 / 15)
    tops = [gap.get_y() + gap.get_height() for gap in display.gaps_]
    np.testing.assert_allclose(tops, frame["mean_predicted"])
    np.testing.assert_allclose([gap.get_width() for gap in display.gaps_], 0.3 / 15)
    lines = np.array(display.band_.get_segments())
    np.testing.assert_allclose(lines[:n, :, 1], np.column_stack([frame["low"]] * 2))
    np.testing.assert_allclose(lines[n : 2 * n, :, 1], np.column_stack([frame["high"]] * 2))
    heights = np.array([bar.get_height() for bar in display.counts_])
    order = np.argsort(frame["count"], kind="stable")
    assert (np.diff(heights[order]) >= 0).all()
    assert heights.min() > 0
    assert display.diagonal_.get_xdata().tolist() == [0, 1]
    assert display.ax_.get_title(loc="left") == f"confidence-ECE {display.curve.error:.4f}"
    assert len(display.figure_.legends) == 1


def test_counts_can_be_left_out(vectors):
    display = ReliabilityDisplay.from_predictions(vectors.y, vectors.proba)
    assert display.plot(counts="none").counts_ is None
    assert display.ax_.get_ylim() == (0.0, 1.0)
    with pytest.raises(ValueError, match="`counts` must be one of 'below', 'none'; got 'above'"):
        display.plot(counts="above")


def test_the_band_can_be_left_out_and_needs_rows_without_weights(vectors):
    y, proba = vectors.y, vectors.proba
    for options in ({"level": None}, {"sample_weight": np.ones(len(y))}):
        display = ReliabilityDisplay.from_predictions(y, proba, **options)
        assert set(display.to_frame()["low"]) == {None}
        assert display.plot().band_ is None
    narrow = ReliabilityDisplay.from_predictions(y, proba, level=0.5).to_frame()
    wide = ReliabilityDisplay.from_predictions(y, proba, level=0.99).to_frame()
    assert (np.array(narrow["low"]) >= wide["low"]).all()
    assert (np.array(narrow["high"]) <= wide["high"]).all()
    with pytest.raises(ValueError, match="`level` must be a finite number"):
        ReliabilityDisplay.from_predictions(y, proba, level=1.0)


def test_weights_count_like_rows(vectors):
    weight = np.arange(240) % 3
    repeated = np.repeat(np.arange(240), weight)
    weighted = ReliabilityDisplay.from_predictions(
        vectors.y, vectors.proba, sample_weight=weight
    ).to_frame()
    plain = ReliabilityDisplay.from_predictions(
        vectors.y[repeated], vectors.proba[repeated], level=None
    ).to_frame()
    np.testing.assert_allclose(weighted["frequency"], plain["frequency"])
    np.testing.assert_allclose(weighted["count"], plain["count"])


def test_the_confidence_alone_is_enough(vectors):
    whole = ReliabilityDisplay.from_predictions(vectors.y, vectors.proba, n_bins=8)
    correct = vectors.proba.argmax(axis=1) == vectors.y
    alone = ReliabilityDisplay.from_confidence(correct, vectors.proba.max(axis=1), n_bins=8)
    assert alone.to_frame() == whole.to_frame()
    weight = np.ones(len(correct))
    weighted = ReliabilityDisplay.from_confidence(
        correct, vectors.proba.max(axis=1), sample_weight=weight, n_bins=8
    )
    assert weighted.to_frame()["count"] == whole.to_frame()["count"]
    assert weighted.plot().band_ is None


def test_bins_that_were_counted_elsewhere(vectors):
    table = confidence_bins(vectors.y, vectors.proba)
    rows = (table.edges[0], table.count[0], table.mean_predicted[0], table.frequency[0])
    display = ReliabilityDisplay.from_bins(*rows)
    whole = ReliabilityDisplay.from_predictions(vectors.y, vectors.proba, level=None)
    assert display.to_frame() == whole.to_frame()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (([0.0, 1.0, 0.5], [1, 1], [0.5, 0.5], [0.5, 0.5]), "`edges` must be the m \\+ 1 ends"),
        (([0, 0.5, 1], [1], [0.5, 0.5], [0.5, 0.5]), r"`count` must have shape \(2,\)"),
        (([0, 0.5, 1], [0, 0], [0.5, 0.5], [0.5, 0.5]), "`count` must not be negative"),
        (([0, 0.5, 1], [4, 0], [2.0, 0.5], [0.5, 0.5]), "bin 0 is 2.0. Pass means, not sums"),
    ],
)
def test_bins_that_make_no_sense(rows, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_bins(*rows)


def test_the_bin_without_width_is_seen():
    proba = [[1.0, 0.0], [0.6, 0.4], [0.0, 1.0]]
    display = ReliabilityDisplay.from_predictions([0, 1, 1], proba, binning="paper_table").plot()
    assert display.to_frame()["lower"][-1] == display.to_frame()["upper"][-1] == 1.0
    assert display.bars_[-1].get_width() > 0.01


def test_bars_of_few_rows_are_pale():
    confidence = np.r_[np.full(900, 0.99), np.full(9, 0.5)]
    display = ReliabilityDisplay.from_confidence(np.ones(909, dtype=bool), confidence).plot()
    pale, full = [bar.get_alpha() for bar in display.bars_]
    assert full == 1.0
    assert pale == pytest.approx(0.25 + 0.75 * 0.1, abs=0.006)
    assert [gap.get_alpha() for gap in display.gaps_] == [pale, full]
    keys = display.figure_.legends[0].get_patches()
    assert all(key.get_alpha() is None for key in keys), "keys of the legend are not pale"
