import os
import signal
import threading
import time
import warnings

import pytest
from threadpoolctl import threadpool_info

from dircal import _threads
from dircal._threads import limited_blas

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
