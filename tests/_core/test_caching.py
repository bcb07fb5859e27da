import threading
from functools import cached_property as of_python

from dircal._core.caching import cached_property


class Rows:
    def __init__(self, wait=None):
        self.n_calls = 0
        self._wait = wait

    @cached_property
    def total(self):
        self.n_calls += 1
        if self._wait is not None:
            self._wait()
        return object()


def test_a_value_is_computed_once():
    rows = Rows()
    assert rows.total is rows.total
    assert rows.n_calls == 1
    assert isinstance(Rows.total, of_python)


def test_threads_do_not_wait_for_each_other():
    """A child forked meanwhile would wait for ever: the thread is not there any more."""
    computing, go_on = threading.Event(), threading.Event()

    def wait():
        computing.set()
        go_on.wait(20)

    slow = Rows(wait)
    thread = threading.Thread(target=lambda: slow.total)
    thread.start()
    computing.wait(20)
    other = threading.Thread(target=lambda: Rows().total)
    other.start()
    other.join(5)
    waits = other.is_alive()
    go_on.set()
    thread.join()
    other.join()
    assert not waits


def test_two_threads_get_the_same_value():
    both = threading.Barrier(2, timeout=200)
    rows, found = Rows(both.wait), []
    threads = [threading.Thread(target=lambda: found.append(rows.total)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]
    assert found[0] is rows.total
