"""Races: the smallest time of two calls that are repeated in turns, and the row it makes."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Call", "Row", "Times", "race"]

Call = Callable[[], object]

# A race lasts at least this long: the machine is shared, and a quiet moment has to come by.
_SECONDS = 5.0
_ROUNDS_AT_LEAST = 7
_ROUNDS_AT_MOST = 200


@dataclass(frozen=True)
class Row:
    """One line of the result: ours against a yardstick.

    ``target`` is the largest ratio of ours to the yardstick that is good enough; None where
    nothing is promised.
    """

    name: str
    data: str
    unit: Literal["s", "passes", "GB"]
    ours: float
    yardstick: str
    theirs: float
    target: float | None
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours in units of the yardstick."""
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.ratio <= self.target


@dataclass(frozen=True)
class Times:
    """Smallest seconds of ours and of the yardstick."""

    ours: float
    theirs: float


def race(ours: Call, theirs: Call) -> Times:
    """Time both calls in turns, after one call of each that is not counted.

    Who goes first alternates, so that neither always finds the cache left by the other. The
    smallest time counts: whatever else the machine does can only add to it.
    """
    times: dict[Call, list[float]] = {ours: [], theirs: []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours()
        theirs()
        began = time.perf_counter()
        for round_ in range(_ROUNDS_AT_MOST):
            for call in (ours, theirs) if round_ % 2 == 0 else (theirs, ours):
                times[call].append(_seconds(call))
            if round_ + 1 >= _ROUNDS_AT_LEAST and time.perf_counter() - began > _SECONDS:
                break
    return Times(min(times[ours]), min(times[theirs]))


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
