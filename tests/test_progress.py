"""The line of progress: on a terminal only, and only when it takes long."""

import io
import re
import sys

import pytest

from dircal import CalibratorCV, DirichletCalibrator, _progress
from dircal._core.optim.newton import WATCHER
from dircal._core.optim.steps import NewtonCholesky
from dircal._progress import Progress, watch_steps


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


def test_fits_count_their_steps(monkeypatch, clock, make_problem):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    minimise_slowly(monkeypatch, clock)
    problem = make_problem(0, n=200)
    DirichletCalibrator(penalty="l2").fit(problem.proba, problem.y)
    assert re.search(r"\rFitting: \d+ of about 12 steps \(\d+%\), \d+ s each", stream.getvalue())
    assert WATCHER.get() is None
    # A search counts its fits, and a short fit stays silent.
    stream.truncate(0)
    CalibratorCV(DirichletCalibrator(penalty="l2"), {"lam": [1.0, 0.1, 0.01]}, cv=2).fit(
        problem.proba, problem.y
    )
    assert "Fitting" not in stream.getvalue()
    assert "Choosing: 1 of 6 fits" in stream.getvalue()


def minimise_slowly(monkeypatch, clock):
    step = NewtonCholesky.newton_step

    def slow(self, point):
        clock.now += 5.0
        return step(self, point)

    monkeypatch.setattr(NewtonCholesky, "newton_step", slow)


def test_more_steps_than_usual(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with watch_steps(3):
        for _ in range(5):
            clock.now += 4.0
            WATCHER.get()(1)
    assert "Fitting: 5 of about 6 steps (83%), 4 s each, about 4 s left" in stream.getvalue()


def test_whoever_stops_a_fit_stops_the_watching():
    with pytest.raises(KeyboardInterrupt), watch_steps(3):
        raise KeyboardInterrupt
    assert WATCHER.get() is None


def test_passes_over_what_is_counted_in_the_first_of_them(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("Reading", 0, "rows", counts_passes=True) as progress:
        clock.now += 10
        progress.advance(500)
        assert "\rReading: 500 rows, 50 a second" in stream.getvalue()
        progress.expect(500)
        progress.rename("Fitting")
        clock.now += 10
        progress.advance(500)
    assert "\rFitting: pass 3 over 500 rows, 50 a second" in stream.getvalue()
