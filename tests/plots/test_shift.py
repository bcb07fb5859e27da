"""Findings of a shift report."""

import numpy as np

from dircal import GenerativeParameters, VectorScaling
from dircal.plots import ShiftDisplay
from dircal.shift import shift_report


def test_lines_lead_from_before_to_now():
    alpha = np.ones((3, 3)) + np.eye(3)
    before, after = (GenerativeParameters(alpha, pi) for pi in ([0.4, 0.4, 0.2], [0.1, 0.4, 0.5]))
    calibrator = VectorScaling().fit(*before.sample(2000, 0))
    report = shift_report(
        calibrator, *before.sample(900, 1), *after.sample(900, 2), n_resamples=199
    )
    display = ShiftDisplay.from_report(report).plot()
    frame = display.to_frame()
    assert frame["adjusted"] == sorted(frame["adjusted"])
    assert [x for x, _ in display.dots_.get_offsets().tolist()] == frame["new"]
    assert "frequency of 0" in frame["finding"]
    assert "confidence less accuracy" in frame["finding"]
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == frame["finding"]
