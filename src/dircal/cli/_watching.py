"""A stream of predictions that a monitor reads, batch by batch, with a state between calls."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dircal._files import write_whole
from dircal._progress import Progress
from dircal._typing import AnyFloatArray, FloatArray, LabelArray
from dircal.cli._selection import columns_of_classes, columns_of_map
from dircal.cli._source import PredictionsFile, column_called, open_file
from dircal.cli._unchanged import unchanged
from dircal.cli.tables import AbstractTable
from dircal.io import to_bytes
from dircal.shift import CalibrationMonitor
from dircal.validation import label_text, show

__all__ = ["Watching", "watch_file"]


@dataclass(frozen=True)
class Watching:
    """What `dircal monitor` was told."""

    source: PredictionsFile
    time: str | None
    group: str | None
    level: float
    batch: int
    state: Path | None
    calibrator: Any

    @property
    def mark(self) -> str:
        """By which the map of a state is known again; empty where there is none."""
        if self.calibrator is None:
            return ""
        return hashlib.sha256(to_bytes(self.calibrator)).hexdigest()[:16]


def watch_file(told: Watching) -> tuple[CalibrationMonitor, int]:
    """Read what is new in the stream; the monitor, and how many rows were new.

    After every batch the state is written: whatever happens, no more than one batch is lost, and
    the next call begins behind the last row of the state.
    """
    known = _read_state(told)
    with unchanged(told.source.path), open_file(told.source) as table:
        columns = _Columns.of(table, told, known)
        monitor = _monitor(told, known, columns.classes)
        seen, first = 0, ""
        n_new = 0
        with Progress("Watching", table.size, table.unit) as progress:
            for number, rows in _batches(table, columns, told.batch, progress.advance):
                if number == 0:
                    first = rows.digest()
                    seen = _rows_read(known, told.source.path, first)
                fresh = rows.after(seen - number)
                if len(fresh.labels) == 0:
                    continue
                proba = fresh.scores
                if told.calibrator is not None:
                    proba = told.calibrator.predict_proba(fresh.scores)
                labels = _as_classes(fresh.labels, columns.classes, told.source)
                monitor.update(proba, labels, groups=fresh.groups, times=fresh.times)
                n_new += len(labels)
                _write_state(told, monitor, number + len(rows.labels), first)
    if first and n_new == 0 and told.state is not None and not told.state.exists():
        _write_state(told, monitor, 0, first)
    return monitor, n_new


@dataclass(frozen=True)
class _Columns:
    """Positions of scores, label, group and time, and the label of each score."""

    scores: list[int]
    classes: LabelArray
    label: int
    group: int | None
    time: int | None

    @classmethod
    def of(cls, table: AbstractTable, told: Watching, known: dict[str, Any] | None) -> "_Columns":
        source = told.source
        label = column_called(table, source.label, "--label")
        group = None if told.group is None else column_called(table, told.group, "--group")
        time = None if told.time is None else column_called(table, told.time, "--time")
        aside = [one for one in (label, group, time) if one is not None]
        if told.calibrator is not None:
            scores = columns_of_map(table, source.columns, told.calibrator)
            # Calibrated probabilities follow the sorted labels.
            return cls(scores, told.calibrator.classes_, label, group, time)
        if known is not None:
            observed = np.array(known["classes"]["values"])
        else:
            parts = [np.unique(chunk.values(label)) for chunk in table.chunks([label])]
            if not parts:
                raise ValueError(f"{str(table.path)!r} has no rows. Pass predictions with labels.")
            observed = np.unique(table.as_labels(np.unique(np.concatenate(parts))))
        chosen = columns_of_classes(table, source.columns, source.classes, observed, aside)
        return cls(chosen.positions, chosen.classes, label, group, time)


@dataclass(frozen=True)
class _Rows:
    scores: AnyFloatArray
    labels: LabelArray
    groups: LabelArray | None
    times: LabelArray | None

    def after(self, n: int) -> "_Rows":
        """Without the first n rows."""
        part = slice(max(n, 0), None)
        return _Rows(
            self.scores[part],
            self.labels[part],
            None if self.groups is None else self.groups[part],
            None if self.times is None else self.times[part],
        )

    def digest(self) -> str:
        """By which the first row is known again."""
        content = self.scores[0].tobytes() + str(self.labels[0]).encode()
        return hashlib.sha256(content).hexdigest()[:16]


def _batches(
    table: AbstractTable, columns: _Columns, size: int, advance: Callable[[int], None]
) -> Iterator[tuple[int, _Rows]]:
    """Rows in batches, with the number of the first of each."""
    others = [one for one in (columns.label, columns.group, columns.time) if one is not None]
    for chunk in table.chunks([*columns.scores, *others]):
        scores: FloatArray = chunk.numbers(columns.scores)
        whole = _Rows(
            scores,
            chunk.values(columns.label),
            None if columns.group is None else chunk.values(columns.group),
            None if columns.time is None else table.as_labels(chunk.values(columns.time)),
        )
        for start in range(0, len(scores), size):
            part = whole.after(start)
            yield (
                chunk.first + start,
                _Rows(
                    part.scores[:size],
                    part.labels[:size],
                    None if part.groups is None else part.groups[:size],
                    None if part.times is None else part.times[:size],
                ),
            )
        advance(chunk.advance)


def _as_classes(labels: LabelArray, classes: LabelArray, source: PredictionsFile) -> LabelArray:
    """Labels of the type of the classes, by their texts."""
    known = {label_text(label): label for label in classes.tolist()}
    texts = [label_text(label) for label in labels.tolist()]
    strangers = [text for text in texts if text not in known]
    if strangers:
        raise ValueError(
            f"{str(source.path)!r}, column {source.label!r} holds the label {strangers[0]!r}, "
            f"which is none of {show(classes)}. Drop its rows, or start a new state with --classes."
        )
    return np.array([known[text] for text in texts], dtype=classes.dtype)


def _read_state(told: Watching) -> dict[str, Any] | None:
    if told.state is None or not told.state.exists():
        return None
    # The monitor checks what is its own.
    known = CalibrationMonitor.load(told.state).to_dict()
    document = json.loads(told.state.read_bytes())
    known["map"], known["stream"] = document.get("map", ""), document.get("stream", {})
    if known["map"] != told.mark:
        what = "without a map" if not known["map"] else "with another map"
        raise ValueError(
            f"--state {str(told.state)!r} was made {what}. Pass the same --map, or name a new "
            "state."
        )
    if known["level"] != told.level:
        raise ValueError(
            f"--state {str(told.state)!r} has the level {known['level']:g}, not {told.level:g}. "
            "Pass the same --level, or name a new state."
        )
    return known


def _monitor(
    told: Watching, known: dict[str, Any] | None, classes: LabelArray
) -> CalibrationMonitor:
    if known is None:
        return CalibrationMonitor(classes=classes.tolist(), level=told.level)
    monitor = CalibrationMonitor.from_dict(known, str(told.state))
    if [label_text(one) for one in monitor.classes] != [
        label_text(one) for one in classes.tolist()
    ]:
        raise ValueError(
            f"--state {str(told.state)!r} has the classes {show(np.array(monitor.classes))}, and "
            f"the stream {show(classes)}. Name the columns in that order, or a new state."
        )
    return monitor


def _rows_read(known: dict[str, Any] | None, path: Path, first: str) -> int:
    """Rows of this stream that a state knows: the same name, and the same first row."""
    stream = {} if known is None else known["stream"]
    same = stream.get("name") == path.name and stream.get("first") == first
    return int(stream.get("rows", 0)) if same else 0


def _write_state(told: Watching, monitor: CalibrationMonitor, n_rows: int, first: str) -> None:
    if told.state is None:
        return
    stream = {"name": told.source.path.name, "rows": n_rows, "first": first}
    document = {**monitor.to_dict(), "map": told.mark, "stream": stream}
    write_whole(told.state, json.dumps(document).encode())
