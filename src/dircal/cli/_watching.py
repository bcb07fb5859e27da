"""A stream of predictions that a monitor reads, batch by batch, with a state between calls."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dircal._files import write_whole
from dircal._progress import Progress
from dircal._typing import LabelArray
from dircal.cli._source import PredictionsFile, check_exists, column_called, open_file
from dircal.cli._stream_file import FileBatch, StreamColumns, StreamNames, batches_of, texts_of
from dircal.cli._typed_labels import as_classes
from dircal.cli._unchanged import unchanged
from dircal.io import to_bytes
from dircal.shift import CalibrationMonitor
from dircal.tables import label_text, show

__all__ = ["Watched", "Watching", "watch_file"]


@dataclass(frozen=True)
class Watching:
    """What `dircal monitor` was told."""

    source: PredictionsFile
    names: StreamNames
    level: float
    batch: int
    state: Path | None
    calibrator: Any
    late: Path | None

    @property
    def mark(self) -> str:
        """By which the map of a state is known again; empty where there is none."""
        if self.calibrator is None:
            return ""
        return hashlib.sha256(to_bytes(self.calibrator)).hexdigest()[:16]


@dataclass(frozen=True)
class Watched:
    """The monitor, how many rows were new, how many labels came late, and how many were unknown.

    The last belong to rows that do not wait: they have their label, or were never seen.
    """

    monitor: CalibrationMonitor
    n_new: int
    n_late: int
    n_unknown: int


def watch_file(told: Watching) -> Watched:
    """Read what is new in the stream, and labels that came late.

    After every batch the state is written: whatever happens, no more than one batch is lost, and
    the next call begins behind the last row of the state.
    """
    if told.late is not None:
        check_exists(told.late)
    known = _read_state(told)
    with unchanged(told.source.path), open_file(told.source) as table:
        classes = None if known is None else np.array(known["classes"]["values"])
        columns = StreamColumns.of(table, told.source, told.names, told.calibrator, classes)
        monitor = _monitor(told, known, columns.classes)
        labels = _Labels(monitor, columns.classes, told.source)
        stream: dict[str, Any] = {} if known is None else known["stream"]
        seen = n_new = n_late = n_unknown = 0
        with Progress("Watching", table.size, table.unit) as progress:
            for number, rows in batches_of(table, columns, told.batch, progress.advance):
                if number == 0:
                    stream = _continued(stream, told, rows.digest())
                    seen = stream["rows"]
                place = min(max(seen - number, 0), len(rows.labels))
                n_resolved, _ = labels.resolve(rows.part(slice(0, place)))
                fresh = rows.part(slice(place, None))
                if len(fresh.labels):
                    labels.update(fresh, told.calibrator)
                n_late, n_new = n_late + n_resolved, n_new + len(fresh.labels)
                stream = {**stream, "rows": seen + n_new}
                if len(fresh.labels) or n_resolved:
                    _write_state(told, monitor, stream)
    for n_found, n_others in _late_labels(told, labels):
        n_late, n_unknown = n_late + n_found, n_unknown + n_others
        _write_state(told, monitor, stream)
    if told.state is not None and not told.state.exists():
        _write_state(told, monitor, stream)
    return Watched(monitor, n_new, n_late, n_unknown)


def _late_labels(told: Watching, labels: "_Labels") -> Iterator[tuple[int, int]]:
    """Labels of rows that wait, from a file of names and labels; how many, and how many others."""
    if told.late is None or told.names.key is None:
        return
    source = replace(told.source, path=told.late, columns=None)
    with unchanged(source.path), open_file(source) as table:
        label = column_called(table, source.label, "--label")
        key = column_called(table, told.names.key, "--id")
        for chunk in table.chunks([label, key]):
            texts, keys = texts_of(chunk, label), texts_of(chunk, key)
            n = len(texts)
            for start in range(0, n, told.batch):
                part = slice(start, min(start + told.batch, n))
                nothing = np.empty((0, 0))
                yield labels.resolve(FileBatch(nothing, texts[part], None, None, keys[part]))


@dataclass(frozen=True)
class _Labels:
    """Hands rows of a file to a monitor, whose classes may be of another type than texts."""

    monitor: CalibrationMonitor
    classes: LabelArray
    source: PredictionsFile

    def update(self, rows: FileBatch, calibrator: Any) -> None:
        """Rows that are new."""
        proba = rows.scores if calibrator is None else calibrator.predict_proba(rows.scores)
        if rows.keys is not None:
            self._refuse_twice(rows.keys.tolist())
        self.monitor.update(
            proba, self._typed(rows.labels), groups=rows.groups, times=rows.times, keys=rows.keys
        )

    def resolve(self, rows: FileBatch) -> tuple[int, int]:
        """Labels of rows that wait for theirs; how many were found, and how many were not."""
        if rows.keys is None or not len(rows.labels):
            return 0, 0
        waiting = set(self.monitor.pending_)
        there = np.array([text != "" for text in rows.labels])
        late = there & np.array([key in waiting for key in rows.keys])
        if late.any():
            keys = rows.keys[late].tolist()
            self._refuse_twice(keys, waiting=())
            self.monitor.resolve(keys, self._typed(rows.labels[late]))
        return int(late.sum()), int(there.sum() - late.sum())

    def _typed(self, texts: Any) -> Any:
        """Labels of the type of the classes; None where one is missing."""
        where = f"{str(self.source.path)!r}, column {self.source.label!r}"
        there = np.array([text != "" for text in texts])
        found = np.full(len(texts), None, dtype=object)
        found[there] = as_classes(
            texts[there],
            self.classes,
            where,
            "Drop its rows, or start a new state with --classes.",
        ).tolist()
        return found

    def _refuse_twice(self, keys: Sequence[str], waiting: Iterable[str] | None = None) -> None:
        taken = set(self.monitor.pending_ if waiting is None else waiting)
        for key in keys:
            if key == "":
                raise ValueError("--id: a row has no name. Name every row.")
            if key in taken:
                raise ValueError(
                    f"--id: {key!r} occurs twice, or waits for its label already. Name every row "
                    "once, and pass labels that came late with --late-labels."
                )
            taken.add(key)


def _read_state(told: Watching) -> dict[str, Any] | None:
    if told.state is None or not told.state.exists():
        return None
    # The monitor checks what is its own.
    known = CalibrationMonitor.load(told.state).to_dict()
    document = json.loads(told.state.read_bytes())
    known["map"], known["stream"] = document.get("map", ""), document.get("stream", {})
    if not isinstance(known["map"], str) or not _is_place(known["stream"]):
        raise ValueError(
            f"--state {str(told.state)!r} is damaged: it does not hold how far a stream was read. "
            "Name a new state."
        )
    if known["map"] != told.mark:
        what = "without a map" if not known["map"] else "with another map"
        raise ValueError(
            f"--state {str(told.state)!r} was made {what}. Pass the same --map, or name a new "
            "state."
        )
    for option, name in told.names.by_option.items():
        before = known["stream"].get(option) if known["stream"] else name
        if before != name:
            how = f"without --{option}" if before is None else f"with --{option} {before!r}"
            raise ValueError(
                f"--state {str(told.state)!r} was made {how}. Name the same column, or name a new "
                "state."
            )
    if known["level"] != told.level:
        raise ValueError(
            f"--state {str(told.state)!r} has the level {known['level']:g}, not {told.level:g}. "
            "Pass the same --level, or name a new state."
        )
    return known


def _is_place(stream: Any) -> bool:
    """Whether a state holds a place in a stream, or that none has been read."""
    if not isinstance(stream, dict) or not stream:
        return stream == {}
    kinds = {name: type(stream.get(name)) for name in ("name", "first", "rows")}
    return kinds == {"name": str, "first": str, "rows": int} and stream["rows"] >= 0


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


def _continued(stream: dict[str, Any], told: Watching, first: str) -> dict[str, Any]:
    """How far a stream was read: not at all, unless name and first row are the same."""
    name = told.source.path.name
    same = stream.get("name") == name and stream.get("first") == first
    rows = int(stream["rows"]) if same else 0
    return {"name": name, "rows": rows, "first": first, **told.names.by_option}


def _write_state(told: Watching, monitor: CalibrationMonitor, stream: dict[str, Any]) -> None:
    if told.state is None:
        return
    document = {**monitor.to_dict(), "map": told.mark, "stream": stream}
    write_whole(told.state, json.dumps(document).encode())
