r"""Scan of a stream for the row at which its probabilities stopped being calibrated.

A stream keeps sums over consecutive segments of its rows. With the gradient :math:`G_\tau` and the
Hessian :math:`H_\tau` of the log-likelihood of the rows after row :math:`\tau` in one parameter of
a map (a slope, or the intercept of a class), both at the identity, and a normal prior of precision
:math:`\lambda`, the likelihood ratio of a change at :math:`\tau` and no change is about

.. math:: \log \Lambda_\tau = \frac{G_\tau^2}{2 (H_\tau + \lambda)}
    - \frac12 \log \left(1 + \frac{H_\tau}{\lambda}\right).

It is averaged over three hypotheses: a slope, one class of any, and all classes. The estimate is
the largest. A priori a stream is wrong from its first row with probability one half, and otherwise
all rows are equally likely. The posterior then gives an interval, and the estimate is the first row
if its probability is more than one half. Segments begin with 8 rows. Of a fixed number, those are
joined that are shortest for their age, so the resolution is a constant part of the time since the
change.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = ["ChangePoint", "SegmentSums", "Segments", "find_change", "row_sums"]

# Rows of the shortest segment.
CHUNK = 8
# Precisions of the slope and of an intercept, as of the bets.
_SLOPE, _INTERCEPT = 4.0, 2.0


@dataclass(frozen=True)
class SegmentSums:
    """Names of sums (..., 3 k + 5) over rows: gradient and Hessian of the slope, and so on."""

    sums: FloatArray

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return (int(self.sums.shape[-1]) - 5) // 3

    @property
    def slope(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian of the slope."""
        return self.sums[..., 0], self.sums[..., 1]

    @property
    def confidence(self) -> FloatArray:
        """Largest probabilities."""
        found: FloatArray = self.sums[..., 2]
        return found

    @property
    def correct(self) -> FloatArray:
        """Rows whose predicted class is the label."""
        found: FloatArray = self.sums[..., 3]
        return found

    @property
    def impossible(self) -> FloatArray:
        """Rows whose label has a probability at the floor."""
        found: FloatArray = self.sums[..., 4]
        return found

    @property
    def by_class(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probabilities, labels, and variances of the labels (..., k)."""
        predicted, observed, variance = np.split(self.sums[..., 5:], 3, axis=-1)
        return predicted, observed, variance


def row_sums(log_proba: FloatArray, labels: IntArray, floor: float) -> FloatArray:
    """Return what rows (a, l) with log-probabilities (a, l, k) add to the sums (a, l, 3 k + 5)."""
    proba = np.exp(log_proba)
    proba /= proba.sum(axis=2, keepdims=True)
    observed = labels[..., None] == np.arange(log_proba.shape[2])
    mean = (proba * log_proba).sum(axis=2)
    at_label = np.take_along_axis(log_proba, labels[..., None], axis=2)[..., 0]
    columns = [
        at_label - mean,
        np.maximum((proba * log_proba**2).sum(axis=2) - mean**2, 0.0),
        proba.max(axis=2),
        log_proba.argmax(axis=2) == labels,
        at_label <= floor,
    ]
    dense = np.stack(columns, axis=2).astype(np.float64)
    return np.concatenate([dense, proba, observed, proba * (1.0 - proba)], axis=2)


@dataclass
class Segments:
    """Sums over segments of the rows of g streams.

    ``ends`` (g, S) are the numbers of their last rows, 0 for segments that are not used yet;
    ``sums`` (g, S, 3 k + 5), and ``open_sums`` (g, 3 k + 5) of the rows after the last end.
    """

    ends: IntArray
    sums: FloatArray
    open_sums: FloatArray

    def add(self, n_rows: IntArray, rows: FloatArray, n_added: IntArray, last: IntArray) -> None:
        """Add rows (a, l, s), of which ``n_added`` (a,) count, to those so far.

        No segment ends after row ``last`` (a,): rows that follow stay in the open sums.
        """
        steps = np.arange(rows.shape[1])
        chunk = (n_rows[:, None] + steps) // CHUNK - (n_rows // CHUNK)[:, None]
        chunk = np.where(steps < n_added[:, None], chunk, -1)
        numbers = np.arange(int(chunk.max()) + 1)
        by_chunk = (chunk[:, None] == numbers[:, None]).astype(np.float64) @ rows
        for number in numbers.tolist():
            self.open_sums += by_chunk[:, number]
            end = CHUNK * (n_rows // CHUNK + number + 1)
            closed = np.flatnonzero((n_rows + n_added >= end) & (end <= last) & (n_added > 0))
            if len(closed):
                self._close(closed, end[closed])

    def _close(self, who: IntArray, end: IntArray) -> None:
        ends, sums = self.ends[who], self.sums[who]
        size, full = ends.shape[1], ends[:, -1] > 0
        if full.any():
            begins = np.column_stack([np.zeros(full.sum(), dtype=np.int64), ends[full, :-1]])
            span, age = ends[full, 1:] - begins[:, :-1], end[full, None] - begins[:, :-1]
            joined = (span / age).argmin(axis=1)
            places = np.arange(full.sum())
            of_full = sums[full]
            of_full[places, joined + 1] += of_full[places, joined]
            kept = np.arange(size - 1) + (np.arange(size - 1) >= joined[:, None])
            sums[full, :-1] = np.take_along_axis(of_full, kept[..., None], axis=1)
            ends[full, :-1] = np.take_along_axis(ends[full], kept, axis=1)
        place = np.where(full, size - 1, (ends > 0).sum(axis=1))
        ends[np.arange(len(who)), place] = end
        sums[np.arange(len(who)), place] = self.open_sums[who]
        self.ends[who], self.sums[who] = ends, sums
        self.open_sums[who] = 0.0


@dataclass(frozen=True)
class ChangePoint:
    """The last row before a change, an interval of it, and sums over all rows since."""

    row: int
    low: int
    high: int
    since: SegmentSums


def find_change(
    ends: IntArray, sums: FloatArray, open_sums: FloatArray, alarm_row: int
) -> ChangePoint:
    """Return the change of one stream: ``ends`` (S,), ``sums`` (S, s) and ``open_sums`` (s,)."""
    used = int((ends > 0).sum())
    if used == 0:
        return ChangePoint(0, 0, alarm_row, SegmentSums(open_sums))
    rows = np.append(0, ends[: used - 1])
    after = sums[:used][::-1].cumsum(axis=0)[::-1]
    log_ratio = _log_ratios(SegmentSums(after))
    # Each boundary stands for the rows up to it, and the first for as many as all others.
    prior = np.log(np.append(max(CHUNK, rows[-1]), np.diff(rows)))
    posterior = np.exp(log_ratio + prior - logsumexp(log_ratio + prior)).cumsum()
    best = 0 if posterior[0] > 0.5 else int(log_ratio.argmax())
    tail = 0.5 * (1.0 - SHIFT_LIMITS.get().change_level)
    low = min(int(np.searchsorted(posterior, tail)), best)
    high = min(max(int(np.searchsorted(posterior, 1.0 - tail)), best), used - 1)
    bounds = np.append(rows, ends[used - 1])
    since = SegmentSums(after[best] + open_sums)
    return ChangePoint(int(rows[best]), int(rows[max(low - 1, 0)]), int(bounds[high + 1]), since)


def _log_ratios(after: SegmentSums) -> FloatArray:
    """Log-likelihood ratios (c,) of a change and none, from the sums (c, s) after it."""
    predicted, observed, variance = after.by_class
    k = after.n_classes
    slope = _log_evidence(*after.slope, _SLOPE)
    classes = _log_evidence(observed - predicted, variance, _INTERCEPT)
    # Residuals of all classes sum to zero: they count like one class less.
    every = (k - 1) / k * classes.sum(axis=1)
    one = logsumexp(classes, axis=1) - np.log(k)
    found: FloatArray = logsumexp(np.stack([slope, every, one]), axis=0)
    return found


def _log_evidence(gradient: FloatArray, hessian: FloatArray, precision: float) -> FloatArray:
    found: FloatArray = 0.5 * gradient**2 / (hessian + precision)
    found -= 0.5 * np.log1p(hessian / precision)
    return found
