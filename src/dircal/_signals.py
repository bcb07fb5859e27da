"""Polite requests to end, and a terminal that is closed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["requests_raise"]


@contextmanager
def requests_raise(error: type[BaseException]) -> Iterator[None]:
    """Raise ``error`` at the first SIGTERM or SIGHUP; outside the main thread nothing changes.

    They come in twos and threes, and the next must not disturb the cleaning up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What is ignored, as by nohup, stays so.
    named = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    heard = [n for n in named if n and signal.getsignal(n) not in (signal.SIG_IGN, None)]

    def interrupt(number: int, frame: FrameType | None) -> None:
        for one in heard:
            signal.signal(one, signal.SIG_IGN)
        raise error

    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
