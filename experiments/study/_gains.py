"""How much lower a log-loss is, in parts of another one, with intervals over rows or sources."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import norm, sem, t

__all__ = ["Gain", "Losses", "difference_of", "gain_of", "mean_gain", "percent"]

FloatArray = npt.NDArray[np.float64]

_LEVEL = 0.95


def percent(part: float) -> str:
    """With two decimals, or with one digit where these are zeros."""
    told = f"{100 * part:+.2f}"
    if float(told) != 0.0:
        return told
    return f"{100 * part:+.1g}" if part else "0"


@dataclass(frozen=True)
class Losses:
    """What each test row loses by a map and by the one that it is compared with."""

    reference: FloatArray
    map: FloatArray
    y: npt.NDArray[np.int64]
    """Labels of the rows: those of two networks with the same labels are the same rows."""

    @property
    def gain(self) -> float:
        """The mean gain of the map, as a part of the mean loss of the reference."""
        return float(1.0 - self.map.mean() / self.reference.mean())

    @property
    def influences(self) -> FloatArray:
        """The influence function of the gain at each row, as the delta method has it; mean zero."""
        kept = (1.0 - self.gain) * self.reference - self.map
        influences: FloatArray = kept / self.reference.mean()
        return influences


@dataclass(frozen=True)
class Gain:
    """A part of a log-loss, with an interval of 95 %; without ends where one value is all."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.value)} % ({percent(self.low)} to {percent(self.high)} %)"

    @property
    def holds_zero(self) -> bool:
        """Whether it may be nothing."""
        return self.low <= 0.0 <= self.high


def gain_of(networks: Sequence[Losses]) -> Gain:
    """The mean gain of networks of one source; the interval is of the choice of rows.

    Networks that were tested on the same rows are averaged row by row; others are independent.
    """
    value = float(np.mean([one.gain for one in networks]))
    return _with_interval(value, [one.influences / len(networks) for one in networks], networks)


def difference_of(network: Losses, plain: Losses) -> Gain:
    """The gain on one network less that on another."""
    parts = [network.influences, -plain.influences]
    return _with_interval(network.gain - plain.gain, parts, [network, plain])


def _with_interval(value: float, parts: Sequence[FloatArray], networks: Sequence[Losses]) -> Gain:
    same = all(np.array_equal(one.y, networks[0].y) for one in networks)
    together = [np.sum(parts, axis=0)] if same else parts
    reach = norm.isf((1 - _LEVEL) / 2) * np.sqrt(sum(sem(part) ** 2 for part in together))
    return Gain(value, value - float(reach), value + float(reach))


def mean_gain(values: Sequence[float]) -> Gain:
    """The mean over sources or trainings, with Student's interval; the whole line of one."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Gain(mean, -np.inf, np.inf)
    reach = float(t.isf((1 - _LEVEL) / 2, len(values) - 1) * sem(values))
    return Gain(mean, mean - reach, mean + reach)
