"""Streams side by side: their states, where they are, and what there is to tell of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dircal._core.shift.bets import BETS, AbstractBet
from dircal._core.shift.eprocess import (
    Segment,
    Streams,
    advance,
    new_streams,
    next_update,
)
from dircal._threads import limited_blas
from dircal._typing import FloatArray, IntArray, LabelArray
from dircal.shift._alarm import Alarm, alarm_of
from dircal.shift._limits import MONITOR_LIMITS
from dircal.shift._monitor_file import streams_from_json, streams_to_json
from dircal.shift._stream_rows import StreamRows

__all__ = ["Watch", "choose_bets"]


class Watch:
    """States of streams by group; a stream without groups is the one of None."""

    def __init__(self, n_classes: int, bets: Sequence[AbstractBet]) -> None:
        self.n_classes = n_classes
        self.bets = bets
        self.streams = self._new(0)
        self.places: dict[Any, int] = {}
        self.alarm_times: list[str | None] = []
        self.end_times: list[dict[int, str]] = []
        self.trace: list[tuple[int, float]] = []

    def _new(self, n_streams: int) -> Streams:
        return new_streams(n_streams, self.n_classes, self.bets)

    def advance(self, rows: StreamRows, clip: float, level: float) -> None:
        """Take in labelled rows, stream by stream and block by block."""
        codes = self._codes(rows)
        order = np.argsort(codes, kind="stable")
        who, first, count = np.unique(codes[order], return_index=True, return_counts=True)
        scores = np.log(np.maximum(rows.proba, clip))
        floor, threshold = float(np.log(clip)), -float(np.log(level))
        with limited_blas(scores.shape):
            while len(who):
                n_before = self.streams.n_rows[who]
                n_taken = np.minimum(next_update(n_before) - n_before, count)
                steps = np.arange(n_taken.max())
                there = steps < n_taken[:, None]
                picked = order[np.where(there, first[:, None] + steps, first[:, None])]
                segment = Segment(scores[picked], rows.labels[picked], there, floor)
                part = self.streams.take(who)
                advance(part, segment, self.bets, threshold)
                self.streams.put(who, part)
                self._remember(who, n_before, picked, rows.times)
                first, count = first + n_taken, count - n_taken
                who, first, count = who[count > 0], first[count > 0], count[count > 0]

    def _codes(self, rows: StreamRows) -> IntArray:
        """Number of the stream of each row; new ones begin here."""
        groups = [None] if rows.groups is None else rows.groups
        for group in groups:
            if group not in self.places:
                self.places[group] = len(self.places)
        n_new = len(self.places) - len(self.alarm_times)
        if n_new:
            self.streams = self.streams.joined(self._new(n_new))
            self.alarm_times += [None] * n_new
            self.end_times += [{} for _ in range(n_new)]
        if rows.groups is None:
            return np.zeros(len(rows.labels), dtype=np.intp)
        return np.array([self.places[group] for group in groups], dtype=np.intp)

    def _remember(
        self, who: IntArray, n_before: IntArray, picked: IntArray, times: list[Any] | None
    ) -> None:
        """Store times of alarms and of ends of segments, and a point of the curve of a stream."""
        if None in self.places:
            self.trace.append((int(self.streams.n_rows[0]), float(self.streams.log_e[0])))
            if len(self.trace) > MONITOR_LIMITS.get().max_trace_points:
                # The last stays, and every second one before it.
                self.trace = self.trace[(len(self.trace) - 1) % 2 :: 2]
        if times is None:
            return
        for i, stream in enumerate(who.tolist()):
            first, last = int(n_before[i]), int(self.streams.n_rows[stream])
            ends = self.streams.segment_ends[stream]
            alarm_row = int(self.streams.alarm_row[stream])
            if first < alarm_row <= last:
                self.alarm_times[stream] = str(times[picked[i, alarm_row - first - 1]])
            earlier = self.end_times[stream]
            self.end_times[stream] = {
                row: earlier[row] if row in earlier else str(times[picked[i, row - first - 1]])
                for row in ends.tolist()
                if row in earlier or row > first
            }

    def restart(self, chosen: list[int]) -> None:
        """Let some streams begin anew."""
        self.streams.put(chosen, self._new(len(chosen)))
        for stream in chosen:
            self.alarm_times[stream], self.end_times[stream] = None, {}
        self.trace = []

    def alarms(self, classes: LabelArray, level: float) -> tuple[Alarm, ...]:
        """What was found where, and since when."""
        groups = [*self.places]
        return tuple(
            alarm_of(
                self.streams,
                i,
                classes,
                level,
                groups[i],
                self.alarm_times[i],
                self.end_times[i],
            )
            for i in np.flatnonzero(self.streams.alarm_row).tolist()
        )

    def discoveries(self, level: float) -> list[Any]:
        """Groups by e-values, with a false discovery rate of at most the level."""
        log_e: FloatArray = self.streams.log_e
        order = np.argsort(-log_e, kind="stable")
        ranks = np.arange(1, len(log_e) + 1)
        enough = log_e[order] + np.log(ranks) >= np.log(max(len(log_e), 1) / level)
        n_found = int(ranks[enough].max()) if enough.any() else 0
        groups = [*self.places]
        return [groups[i] for i in order[:n_found].tolist()]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "groups": [*self.places],
            "alarm_times": self.alarm_times,
            "end_times": [[*each.items()] for each in self.end_times],
            "trace": self.trace,
            "streams": streams_to_json(self.streams),
        }

    def from_json(self, node: dict[str, Any]) -> None:
        """What `to_json` gave."""
        self.streams = streams_from_json(node["streams"], self.streams)
        self.places = {group: i for i, group in enumerate(node["groups"])}
        self.alarm_times = [*node["alarm_times"]]
        self.end_times = [{int(row): time for row, time in each} for each in node["end_times"]]
        self.trace = [(int(row), float(log_e)) for row, log_e in node["trace"]]
        sizes = {len(each) for each in (self.places, self.alarm_times, self.end_times)}
        if sizes != {len(self.streams.n_rows)}:
            raise ValueError("streams and groups are not as many")


def choose_bets(maps: Sequence[str], n_classes: int) -> list[AbstractBet]:
    """Families of maps by name."""
    unknown = [name for name in maps if name not in BETS]
    if unknown or not maps or isinstance(maps, str):
        raise ValueError(
            f"`maps` must be some of {', '.join(BETS)}; got {list(maps)!r}. Name at least one."
        )
    many = n_classes > MONITOR_LIMITS.get().max_matrix_classes
    names = ["vector" if many and name == "full" else name for name in maps]
    return [BETS[name](n_classes) for name in dict.fromkeys(names)]
