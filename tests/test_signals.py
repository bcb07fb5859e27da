"""Requests to end raise once, and leave everything as it was."""

import os
import signal
import threading

import pytest

from dircal._signals import requests_raise


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
