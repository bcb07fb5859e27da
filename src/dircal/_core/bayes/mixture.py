"""Scores that are sure of nothing: a temperature, and a share of the uniform distribution."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dircal._core.data.chunks import Reader, Rows, floored, log_of_floor
from dircal._typing import FloatArray

__all__ = ["Softening", "levelled", "softened", "uniform_share"]

_MOST = 1.0 - float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Softening:
    """From raw rows to ln r, with r = (1 - u) softmax(slope * scores) + u / k.

    ``transform`` and ``log_floor`` make the scores, as in a `Reader`, and ``uniform`` is u, the
    share of the uniform distribution: no class is left without a probability. Unless
    ``normalised``, a row is moved by a constant to where slope * scores was: without the uniform
    share it is that, and a linear map of it a linear map of the scores. Of the mean of a row the
    part ``level`` is kept.
    """

    transform: Callable[[FloatArray], FloatArray] | None
    log_floor: float
    slope: float
    uniform: float
    normalised: bool
    level: float = 1.0

    def __call__(self, block: FloatArray) -> FloatArray:
        """Softened scores (k, m), made of ``block`` (k, m) in place."""
        if self.transform is not None:
            block = self.transform(block)
        block = floored(block, self.log_floor)
        block *= self.slope
        top = block.max(axis=0)
        block -= top
        total = np.log(np.exp(block).sum(axis=0))
        block -= total
        block += np.log1p(-self.uniform)
        np.logaddexp(block, np.log(self.uniform / len(block)), out=block)
        if not self.normalised:
            block += top
            block += total
        return levelled(block, self.level)


def levelled(scores: FloatArray, level: float) -> FloatArray:
    """Scores (k, m) of which each row keeps the part ``level`` of its mean, in place."""
    if level < 1.0:
        scores -= (1.0 - level) * scores.mean(axis=0)
    return scores


def uniform_share(n: float) -> float:
    """The share of the uniform distribution for ``n`` rows: 1 / (n + 1), but never all.

    That is the rule of succession for the event that a prediction without doubt was wrong.
    """
    return min(1.0 / (n + 1.0), _MOST)


def softened(
    rows: Rows, floor: float, slope: float, *, normalised: bool, level: float = 1.0
) -> Rows:
    """The same rows with a floor, a temperature and a share of the uniform distribution."""
    read = rows.source.read
    uniform = uniform_share(rows.total_weight)
    soften = Softening(read.transform, log_of_floor(floor), slope, uniform, normalised, level)
    return Rows(replace(rows.source, read=Reader(soften, read.columns)))
