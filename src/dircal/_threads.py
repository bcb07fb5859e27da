"""BLAS on one thread, where a second one costs more than it gives."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import threadpoolctl

from dircal._core.data.chunks import row_slices

__all__ = ["limited_blas"]

# Products of matrices up to this many multiplications a chunk run on one BLAS thread: handing
# parts of them to a second one costs more than it saves.
_ONE_THREAD_WORK = 2e8


@cache
def _threadpools() -> threadpoolctl.ThreadpoolController:
    # Looking for the loaded libraries takes longer than a small fit, so it is done once.
    return threadpoolctl.ThreadpoolController()


class _OneThread(AbstractContextManager[None]):
    """Limits BLAS to one thread while anybody is inside, whichever thread came first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limiter = _threadpools().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limiter.restore_original_limits()


_one_thread = _OneThread()


def limited_blas(shape: tuple[int, int]) -> AbstractContextManager[Any]:
    """Context in which BLAS uses one thread, if chunks of rows (n, k) make small products."""
    n_classes = shape[1]
    if next(row_slices(shape), slice(0)).stop * n_classes**2 > _ONE_THREAD_WORK:
        return nullcontext()
    return _one_thread
