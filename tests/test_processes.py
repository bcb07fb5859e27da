"""Progress, requests to end and threads."""

import io
import os
import re
import signal
import sys
import threading
import time
import warnings

import pytest
from threadpoolctl import threadpool_info

from dircal import CalibratorCV, DirichletCalibrator, _progress, _threads
from dircal._core.optim.newton import WATCHER
from dircal._core.optim.steps import NewtonCholesky
from dircal._progress import Progress, watch_steps
from dircal._signals import requests_raise
from dircal._threads import limited_blas

# The line of progress: on a terminal only, and only when it takes long.


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


# Requests to end raise once, and leave everything as it was.


class AskedError(BaseException):
    """What a request raises here."""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_first_request_raises_and_the_next_do_not_disturb(name):
    number = getattr(signal, name)
    before = signal.getsignal(number)

    def ask_twice():
        with requests_raise(AskedError):
            try:
                os.kill(os.getpid(), number)
            finally:
                os.kill(os.getpid(), number)

    with pytest.raises(AskedError):
        ask_twice()
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_so():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with requests_raise(AskedError):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_hear_nothing():
    seen = []

    def run():
        with requests_raise(AskedError):
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_products_run_on_one_blas_thread():
    before = blas_threads()
    with limited_blas((10_000_000, 10)):
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_several_threads_leave_blas_as_it_was():
    before = blas_threads()
    first, second = limited_blas((100, 3)), limited_blas((100, 3))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_large_products_keep_their_threads():
    before = blas_threads()
    with limited_blas((10_000, 1000)):
        assert blas_threads() == before


def in_child(check):
    """Whether ``check`` holds in a fork of this process, which is ended if it hangs."""
    with warnings.catch_warnings():
        # Python warns of what is tried here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 3)
        finally:
            os._exit(4)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def limits_and_restores(before):
    with limited_blas((100, 3)):
        inside = blas_threads()
    return inside == {1} and blas_threads() == before


def test_the_last_thread_to_leave_restores_the_limit():
    """Not the one that came first, nor the main one."""
    before = blas_threads()
    with limited_blas((100, 3)):
        assert blas_threads() == {1}
    first_may_leave, last_may_leave = threading.Event(), threading.Event()

    def compute(inside, leave):
        with limited_blas((100, 3)):
            inside.set()
            leave.wait(20)

    threads = []
    for leave in (first_may_leave, last_may_leave):
        inside = threading.Event()
        threads.append(threading.Thread(target=compute, args=(inside, leave)))
        threads[-1].start()
        inside.wait(20)
    found = [blas_threads()]
    for thread, leave in zip(threads, (first_may_leave, last_may_leave), strict=True):
        leave.set()
        thread.join()
        found.append(blas_threads())
    assert found == [{1}, {1}, before]


@needs_fork
def test_a_child_of_a_process_where_another_thread_computes():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def compute():
        with limited_blas((100, 3)):
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=compute)
    thread.start()
    entered.wait(20)
    try:
        assert blas_threads() == {1}
        assert in_child(lambda: blas_threads() == before and limits_and_restores(before))
        assert blas_threads() == {1}
    finally:
        leave.set()
        thread.join()
    assert blas_threads() == before


@needs_fork
def test_a_child_of_a_thread_that_computes_is_still_inside():
    before = blas_threads()
    context = limited_blas((100, 3))

    def leaves():
        inside = blas_threads()
        context.__exit__(None, None, None)
        return inside == {1} and blas_threads() == before

    with context:
        assert in_child(leaves)
    assert blas_threads() == before


@needs_fork
def test_a_child_is_not_made_while_the_limit_changes(monkeypatch):
    """What it would inherit is a lock that nobody opens."""
    before = blas_threads()
    changing, limit = threading.Event(), _threads._threadpools().limit

    class Slow:
        def limit(self, **options):
            changing.set()
            time.sleep(0.2)
            return limit(**options)

    monkeypatch.setattr(_threads, "_threadpools", Slow)

    def compute():
        with limited_blas((100, 3)):
            pass

    thread = threading.Thread(target=compute)
    thread.start()
    changing.wait(20)
    monkeypatch.undo()
    assert in_child(lambda: limits_and_restores(before))
    thread.join()
    assert blas_threads() == before
