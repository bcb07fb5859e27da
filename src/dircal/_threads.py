"""BLAS on one thread, where a second one costs more than it gives."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import RLock, get_ident
from typing import Any

from dircal._core.data.chunks import row_slices

__all__ = ["limited_blas"]

# Products of matrices up to this many multiplications a chunk run on one BLAS thread: handing
# parts of them to a second one costs more than it saves.
_ONE_THREAD_WORK = 2e8


@cache
def _threadpools() -> Any:
    import threadpoolctl

    # Looking for the loaded libraries takes longer than a small fit, so it is done once.
    return threadpoolctl.ThreadpoolController()


@contextmanager
def _in_control() -> Iterator[None]:
    """Change limits from any thread.

    From version 3.8 on threadpoolctl listens to the first thread that changes a limit, and does
    nothing for others without a word. Ours take turns behind a lock.
    """
    import threadpoolctl

    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda force: 0)
    release(force=True)
    yield
    release(force=True)


class _OneThread(AbstractContextManager[None]):
    """Limits BLAS to one thread while anybody is inside, whichever thread came first."""

    def __init__(self) -> None:
        # Of a kind that its thread may take again: a signal may fork while it is held.
        self._lock = RLock()
        self._inside: list[int] = []
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                with _in_control():
                    self._limiter = _threadpools().limit(limits=1, user_api="blas")
            self._inside.append(get_ident())

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside.remove(get_ident())
            self._restore()

    def before_fork(self) -> None:
        """Wait until no thread is on its way in or out: the child would inherit half of it."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Forget the threads that are no more; the one that has forked may be inside itself."""
        self._lock = RLock()
        others = [ident for ident in self._inside if ident != get_ident()]
        for ident in others:
            self._inside.remove(ident)
        if others:
            self._restore()

    def _restore(self) -> None:
        if not self._inside:
            with _in_control():
                self._limiter.restore_original_limits()


_one_thread = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_one_thread.before_fork,
        after_in_parent=_one_thread.after_fork_in_parent,
        after_in_child=_one_thread.after_fork_in_child,
    )


def limited_blas(shape: tuple[int, int]) -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread, if chunks of rows (n, k) make small products."""
    n_classes = shape[1]
    if next(row_slices(shape), slice(0)).stop * n_classes**2 > _ONE_THREAD_WORK:
        return nullcontext()
    return _one_thread
