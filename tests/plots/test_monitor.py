"""The curve of a monitor."""

import numpy as np
import pytest

from dircal.plots import MonitorDisplay
from dircal.shift import CalibrationMonitor


def test_the_curve_is_that_of_the_monitor():
    p = np.random.default_rng(0).dirichlet([1.0, 1.0], 500)
    monitor = CalibrationMonitor(classes=["no", "yes"]).update(p, ["no"] * 500)
    display = MonitorDisplay.from_monitor(monitor).plot()
    rows, log10_e = monitor.trace_
    assert display.to_frame() == {"row": rows.tolist(), "log10_e": log10_e.tolist()}
    assert display.line_.get_ydata().tolist() == log10_e.tolist()
    texts = [text.get_text() for text in display.ax_.texts]
    assert f"alarm at row {monitor.alarms_[0].row}" in texts[0]


def test_without_an_alarm_there_is_none_to_mark():
    monitor = CalibrationMonitor(classes=[0, 1]).update([[0.5, 0.5]], [1])
    assert not MonitorDisplay.from_monitor(monitor).plot().ax_.texts


def test_nothing_to_draw():
    monitor = CalibrationMonitor(classes=[0, 1])
    with pytest.raises(ValueError, match="`monitor` has no curve to draw"):
        MonitorDisplay.from_monitor(monitor)
    with pytest.raises(ValueError, match="`monitor` has no curve to draw"):
        MonitorDisplay.from_monitor(monitor.update([[0.5, 0.5]], [1], groups=["a"]))
