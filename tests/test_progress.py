"""The line of progress: on a terminal only, and only when it takes long."""

import io
import sys

import pytest

from dircal import _progress
from dircal._progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 0.0

    monkeypatch.setattr(_progress.time, "monotonic", lambda: Clock.now)
    return Clock


def run(monkeypatch, clock, stream, seconds):
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("Drawing", 100, "draws") as progress:
        for _ in range(50):
            clock.now += seconds / 100
            progress.advance(1)
    return stream.getvalue()


def test_long_work_shows_rate_and_time_left(monkeypatch, clock):
    text = run(monkeypatch, clock, Terminal(), 100.0)
    assert "\rDrawing: 45 of 100 draws (45%), 1 a second, 55 s left" in text
    assert "\rDrawing: 50 of 100 draws (50%), 1 a second, 50 s left" in text
    assert text.endswith("\r")
    assert text.rstrip("\r").endswith(" ")


def test_short_work_and_other_streams_stay_silent(monkeypatch, clock):
    assert run(monkeypatch, clock, Terminal(), 1.0) == ""
    assert run(monkeypatch, clock, io.StringIO(), 100.0) == ""


def test_hours_and_minutes(monkeypatch, clock):
    assert "min left" in run(monkeypatch, clock, Terminal(), 6000.0)
    assert "h left" in run(monkeypatch, clock, Terminal(), 100_000.0)


def test_no_stream_at_all(monkeypatch, clock, capfd):
    monkeypatch.setattr(sys, "stderr", None)
    with Progress("Drawing", 10, "draws") as progress:
        clock.now += 10
        progress.advance(5)
    assert capfd.readouterr() == ("", "")
