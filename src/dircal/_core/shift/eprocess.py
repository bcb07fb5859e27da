r"""An e-process against calibration, for many streams at once.

If the probabilities :math:`p_t` are calibrated, then for any distribution :math:`q_t` that is
chosen before the label is seen

.. math:: E_t = \prod_{s \le t} \frac{q_s(y_s)}{p_s(y_s)}

has a mean of at most one, and by Ville's inequality it ever reaches :math:`1 / \alpha` with a
probability of at most :math:`\alpha`, however often one looks (Shafer, 2021; Ramdas et al., 2023).
Here q is a mixture of p itself and of maps of it that were learned on earlier rows (`bets`). Within
a block maps are held and the mixture is Bayes'; from block to block a part of the weights is dealt
out anew (fixed share; Herbster and Warmuth, 1998), so that a map which was of no use for a year is
tried again.

Probabilities are raised to a floor, without dividing by the sum: then :math:`p_t` is too large if
anything, and the mean of :math:`E_t` still at most one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._core.shift.bets import AbstractBet
from dircal._core.shift.change_point import Segments, row_sums
from dircal._core.shift.limits import SHIFT_LIMITS
from dircal._typing import FloatArray, IntArray

__all__ = ["Segment", "Streams", "advance", "new_streams", "next_update"]

# Maps are renewed after so many rows, at first, and at last; in between after a part of all rows.
_FIRST_BLOCK, _LAST_BLOCK, _PART = 8, 200, 4


@dataclass
class Streams:
    """States of g streams, in arrays that begin with g.

    ``n_rows``; ``log_e``, the logarithm of the e-value, and ``peak``, its largest so far;
    ``weights`` (g, m + 1) of the identity and of m maps; ``segment_ends``, ``segment_sums`` and
    ``open_sums``, the rows that are scanned for a change, see `Segments`. ``alarm_row`` is the row,
    counted from one, at which E was first large enough, or zero; from then on no segment ends.
    For each bet there are ``params`` (g, p), ``precision`` (g, p, p) and ``information`` (g, p).
    """

    n_rows: IntArray
    log_e: FloatArray
    peak: FloatArray
    weights: FloatArray
    segment_ends: IntArray
    segment_sums: FloatArray
    open_sums: FloatArray
    alarm_row: IntArray
    params: list[FloatArray]
    precision: list[FloatArray]
    information: list[FloatArray]

    def take(self, chosen: npt.ArrayLike) -> "Streams":
        """Copies of some of the streams."""
        taken: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            is_list = isinstance(value, list)
            taken[each.name] = [part[chosen] for part in value] if is_list else value[chosen]
        return Streams(**taken)

    def put(self, chosen: npt.ArrayLike, others: "Streams") -> None:
        """Write streams to their places."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(others, each.name)
            if isinstance(mine, list):
                for part, other in zip(mine, theirs, strict=True):
                    part[chosen] = other
            else:
                mine[chosen] = theirs

    def joined(self, others: "Streams") -> "Streams":
        """With more streams behind."""
        both: dict[str, Any] = {}
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(others, each.name)
            if isinstance(mine, list):
                both[each.name] = [np.concatenate(pair) for pair in zip(mine, theirs, strict=True)]
            else:
                both[each.name] = np.concatenate([mine, theirs])
        return Streams(**both)


def new_streams(n_streams: int, n_classes: int, bets: Sequence[AbstractBet]) -> Streams:
    """Streams without rows."""
    sizes, n_segments = [len(bet.precision) for bet in bets], SHIFT_LIMITS.get().max_segments
    none = np.zeros(n_streams)
    count = np.zeros(n_streams, dtype=np.int64)
    return Streams(
        n_rows=count.copy(),
        log_e=none.copy(),
        peak=none.copy(),
        weights=np.tile(_dealt(bets), (n_streams, 1)),
        segment_ends=np.zeros((n_streams, n_segments), dtype=np.int64),
        segment_sums=np.zeros((n_streams, n_segments, 3 * n_classes + 5)),
        open_sums=np.zeros((n_streams, 3 * n_classes + 5)),
        alarm_row=count.copy(),
        params=[np.zeros((n_streams, size)) for size in sizes],
        precision=[np.zeros((n_streams, size, size)) for size in sizes],
        information=[np.zeros((n_streams, size)) for size in sizes],
    )


def _dealt(bets: Sequence[AbstractBet]) -> FloatArray:
    """Initial weights of the identity and of the maps: bets share equally, and so do their maps."""
    share = SHIFT_LIMITS.get().identity_share
    weights = [np.full(bet.n_maps, (1.0 - share) / (len(bets) * bet.n_maps)) for bet in bets]
    return np.concatenate([[share], *weights])


def _ends() -> IntArray:
    """Ends of blocks while these grow."""
    ends = [_FIRST_BLOCK]
    while (step := max(_FIRST_BLOCK, ends[-1] // _PART)) < _LAST_BLOCK:
        ends.append(ends[-1] + step)
    return np.array(ends)


_GROWING = _ends()


def next_update(n_rows: IntArray) -> IntArray:
    """The number of rows at which maps are renewed next: a matter of the rows, not of batches."""
    ends = _GROWING
    later = n_rows >= ends[-1]
    steps = (n_rows - ends[-1]) // _LAST_BLOCK + 1
    found: IntArray = np.where(
        later,
        ends[-1] + steps * _LAST_BLOCK,
        ends[np.minimum(np.searchsorted(ends, n_rows, side="right"), len(ends) - 1)],
    )
    return found


@dataclass(frozen=True)
class Segment:
    """Rows of some streams that lie within one block.

    ``log_proba`` (a, l, k) not below the ``floor``, ``labels`` (a, l), and which rows are ``there``
    (a, l): streams may have fewer than l, at the end.
    """

    log_proba: FloatArray
    labels: IntArray
    there: npt.NDArray[np.bool_]
    floor: float


def advance(
    streams: Streams, segment: Segment, bets: Sequence[AbstractBet], threshold: float
) -> FloatArray:
    """Take rows in, and give the logarithms (a, l) of E after each of them.

    An alarm is remembered where one reaches the threshold for the first time.
    """
    there, log_proba = segment.there, segment.log_proba
    gains, learned = [np.zeros((len(there), 1, there.shape[1]))], []
    for bet, params in zip(bets, streams.params, strict=True):
        log_q = bet.log_proba(params, log_proba)
        gained = bet.gains(params, log_q, log_proba, segment.labels)
        gains.append(np.where(there[:, None], gained, 0.0))
        learned.append(log_q)
    # (a, m + 1, l): what each map has made of a stake of one.
    wealth = np.cumsum(np.concatenate(gains, axis=1), axis=2)
    with np.errstate(divide="ignore"):
        stakes = np.log(streams.weights)[:, :, None]
    path: FloatArray = streams.log_e[:, None] + np.logaddexp.reduce(stakes + wealth, axis=1)
    _sound_alarms(streams, there, path, threshold)
    _scan(streams, segment)
    last = stakes[:, :, 0] + wealth[:, :, -1]
    streams.weights = np.exp(last - np.logaddexp.reduce(last, axis=1)[:, None])
    streams.log_e = path[:, -1].copy()
    streams.n_rows = streams.n_rows + there.sum(axis=1)
    _learn(streams, segment, bets, learned)
    return path


def _scan(streams: Streams, segment: Segment) -> None:
    """Add the rows to the segments, of which none ends after an alarm."""
    last = np.where(streams.alarm_row > 0, streams.alarm_row, np.iinfo(np.int64).max)
    rows = row_sums(segment.log_proba, segment.labels, segment.floor)
    found = Segments(streams.segment_ends, streams.segment_sums, streams.open_sums)
    found.add(streams.n_rows, rows, segment.there.sum(axis=1), last)


def _sound_alarms(
    streams: Streams, there: npt.NDArray[np.bool_], path: FloatArray, threshold: float
) -> None:
    reached = there & (path >= threshold)
    now = reached.any(axis=1) & (streams.alarm_row == 0)
    streams.alarm_row = np.where(
        now, streams.n_rows + reached.argmax(axis=1) + 1, streams.alarm_row
    )
    streams.peak = np.maximum(streams.peak, np.where(there, path, -np.inf).max(axis=1))


def _learn(
    streams: Streams,
    segment: Segment,
    bets: Sequence[AbstractBet],
    learned: Sequence[FloatArray],
) -> None:
    """Add what the rows tell, and at the end of a block renew maps and deal weights out."""
    labels = segment.labels[..., None] == np.arange(segment.log_proba.shape[2])
    for i, (bet, log_q) in enumerate(zip(bets, learned, strict=True)):
        proba = np.exp(log_q, out=log_q) * segment.there[..., None]
        residual = labels * segment.there[..., None] - proba
        gradient, hessian = bet.moments(segment.log_proba, proba, residual)
        moved = gradient + np.einsum("apq,aq->ap", hessian, streams.params[i])
        streams.precision[i] = streams.precision[i] + hessian
        streams.information[i] = streams.information[i] + moved
    ends = np.flatnonzero(streams.n_rows == next_update(streams.n_rows - 1))
    if len(ends) == 0:
        return
    n_rows = streams.n_rows[ends]
    n_block = n_rows - _block_begin(n_rows)
    for i, bet in enumerate(bets):
        found = bet.solve(streams.precision[i][ends], streams.information[i][ends])
        streams.params[i] = streams.params[i].copy()
        streams.params[i][ends] = found
        # Here and not row by row, so that it makes no difference how rows come in.
        fade = np.exp(-n_block / bet.horizon)
        streams.precision[i][ends] *= fade[:, None, None]
        streams.information[i][ends] *= fade[:, None]
    shared = (n_block / (n_rows + SHIFT_LIMITS.get().share_rows))[:, None]
    streams.weights[ends] = (1.0 - shared) * streams.weights[ends] + shared * _dealt(bets)


def _block_begin(ends: IntArray) -> IntArray:
    """Where the blocks began that end here."""
    grown = np.append(0, _GROWING)
    earlier = grown[np.searchsorted(grown, ends) - 1]
    return np.where(ends > grown[-1], ends - _LAST_BLOCK, earlier)
